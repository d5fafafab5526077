"""Finding requirements by questions in other words than theirs, on real trees."""

# ruff: noqa: E501 (a question and its answer stand on one line)

import os
import tarfile
from pathlib import Path

import pytest
from mcp_host_openspec.service import OpenSpec, Root
from mcp_host_openspec.service.search import Searches

SHARED = Path(os.environ.get("MCP_HOST_SHARED", Path(__file__).resolve().parents[3] / "shared"))

QUESTIONS = {
    "Codagent-AI+agent-validator": [
        ("is the task compliance review switched off unless asked for", "dynamic-review-control", "Task-compliance review defaults to disabled"),
        ("does the user see a preview before an issue is filed", "validator-issue", "Issue Preview and Confirmation"),
        ("can I add a custom check that setup did not find by scanning", "agent-command", "Setup Skill Custom Additions"),
        ("where does init install the skills for Codex", "init-config", "Init installs Codex skills based on scope"),
        ("do violation ids stay the same between report and update-review", "report-flag", "Numeric IDs are stable within a log session"),
        ("how often does the agent retry the fix cycle", "agent-command", "Retry Termination"),
        ("troubleshooting of lock conflicts and adapter health in validator-help", "agent-command", "Comprehensive Diagnostic Playbooks"),
        ("is the lock taken before the console log starts", "run-lifecycle", "Lock Acquisition Before Console Logging"),
        ("summary with fix and skip counts at the end of a run", "log-management", "Results Summary with Status"),
        ("flat command files for agents without a skills directory", "agent-command", "Command Installation for Non-Claude Agents"),
        ("which questions does init ask interactively", "init-config", "Init uses non-interactive config defaults"),
        ("adding the claude plugin marketplace during init", "plugin-install", "Plugin marketplace registration"),
        ("a skill that only diagnoses the validator and fixes nothing", "agent-command", "Validator Help Diagnostic Skill"),
        ("does validator-commit detect whether there are changes first", "validator-commit", "Change Detection Gate"),
        ("a command to clean the logs", "log-management", "Clean CLI Command"),
    ],
    "Fission-AI+OpenSpec": [
        ("install shell completion scripts automatically", "cli-completion", "Installation Automation"),
        ("how are schema directories with their templates laid out", "artifact-graph", "Schema Directory Structure"),
        ("what happens when a change removes every requirement of a capability", "cli-archive", "Capability Retirement"),
        ("does update handle files safely", "cli-update", "File Handling"),
        ("zod schemas for the structure of a spec", "cli-spec", "JSON Schema Definition"),
        ("keep the nix validation in CI fast", "ci-nix-validation", "CI Performance Optimization"),
        ("show where the config file is", "cli-config", "Config Path"),
        ("confirm spec updates before they are applied by archive", "cli-archive", "Confirmation Behavior"),
        ("read the project configuration from openspec/config.yaml", "config-loading", "Load project config from openspec/config.yaml"),
        ("choosing a spec interactively when validate gets no id", "cli-spec", "Interactive spec validation"),
        ("run the CI workflow locally with act", "ci-nix-validation", "Local Testing Support"),
        ("is an existing schema overwritten by a fork", "schema-fork-command", "Schema fork prevents accidental overwrites"),
        ("limit on the size of the context", "config-loading", "Enforce context size limit"),
        ("enriched instructions for creating an artifact", "cli-artifact-workflow", "Instructions Command"),
        ("which event is sent to PostHog when a command runs", "telemetry", "Command execution tracking"),
    ],
    "deeprave+mcp-guide": [
        ("a template that formats the list of exports", "help-template-system", "Export List Template"),
        ("can the path of the workflow state file be configured", "workflow-flags", "Workflow File Configuration ✅ IMPLEMENTED"),
        ("retry when an instruction was not acknowledged", "workflow-events", "RetryTask Timer Monitoring"),
        ("are phase commands available when workflow support is off", "workflow-command-guidance", "General workflow command availability"),
        ("which characters may a collection name have", "collection-tools", "Collection Name Validation"),
        ("template variable with the permissions of workflow transitions", "workflow", "Workflow Transitions Template Variable"),
        ("when is workflow guidance appended", "workflow-command-guidance", "Workflow add-in guidance"),
        ("default policy category for steering documents", "project-config", "Project Configuration Structure"),
        ("filter documents of a category by a sub-path with trailing slash", "category-tools", "Sub-path Category Filtering"),
        ("command to remove export tracking entries", "help-template-system", "Export Remove Command"),
        ("ingest documents from file content events into the store", "category-tools", "Document Ingestion via Task Manager"),
        ("category/pattern shorthand for getting content", "tool-infrastructure", "Slash Syntax Content Retrieval"),
        ("schema of the sqlite documents table", "document-store", "Document Store Schema"),
        ("avoid duplicate log lines from the framework logger", "logging", "Logger Hierarchy Separation"),
        ("prompt at startup to update installed documentation", "task-manager", "Startup Update Prompts Require Updateable Installed Docs"),
    ],
    "fraction12+openspec-studio": [
        ("can the packaged desktop app find the openspec executable", "derived-data-accuracy", "Packaged CLI execution preserves runtime resolution"),
        ("extracting the markdown preview must not change behavior", "workbench-application-modules", "Markdown Preview Model remains behavior-preserving"),
        ("keyboard and assistive technology in board tables", "change-board", "Shared board tables are accessible and consistent"),
        ("is editing of artifacts planned for the future", "workspace-intelligence", "Safe artifact authoring readiness"),
        ("lint warnings against shallow module extraction", "module-seam-linting", "Architecture linting preserves module depth"),
        ("load workflow status without overwhelming the machine", "workspace-intelligence", "Bounded OpenSpec status loading"),
        ("typography for readable artifacts", "design-system", "Artifact-first typography"),
        ("when is a change ready to be archived", "change-board", "Archive readiness derives from task completion"),
        ("does the selected spec follow the search results", "workspace-intelligence", "Specs selection stays synchronized with search"),
        ("when may ARIA roles be used", "design-system", "Interactive controls expose honest semantics"),
        ("does the repository claim native support it does not have", "public-release-hygiene", "Native platform support is not overstated"),
        ("text of empty states in the workbench", "change-board", "Workbench empty states stay practical"),
        ("extracting the archive operation flow must keep its guardrails", "workbench-application-modules", "Archive Operation Flow remains behavior-preserving"),
        ("do rows of the board look clickable", "change-board", "Board rows communicate that they are navigable"),
        ("several repositories in one dashboard", "workspace-intelligence", "Multi-repository workspace readiness"),
    ],
}  # fmt: skip
"""Questions about four public trees, each with the capability and requirement that answers it."""


def test_the_right_requirement_is_among_the_first_five(tmp_path: Path) -> None:
    """In 95 of 100 questions."""
    corpus = SHARED / "openspec-oracle/corpus.tar.xz"
    if not corpus.is_file():
        pytest.skip(f"no shared test data in {corpus.parent}")
    with tarfile.open(corpus) as archive:
        specs = (member for member in archive if "/openspec/specs" in member.name)
        archive.extractall(tmp_path, members=specs, filter="data")
    missed, asked = [], 0
    searches = Searches()
    for repository, questions in QUESTIONS.items():
        tree = OpenSpec(Root(tmp_path / "corpus/heads" / repository, "configured")).tree
        for question, capability, requirement in questions:
            asked += 1
            found = searches.of(tree).find(question, 5)
            if (capability, requirement) not in [(m.capability, m.requirement) for m in found]:
                missed.append(question)
    assert asked == 60
    assert len(missed) <= 3, missed
