"""The workflow of a change, by command and by tool: what comes next, and what belongs into it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from mcp_host.testing import CallFailed, stdio_client
from mcp_host_openspec.storage.files import Files
from mcp_host_openspec.storage.schemas import SPEC_DRIVEN, Schemas

OPENSPEC = str(Path(sys.executable).with_name("openspec"))
REFERENCE = "@fission-ai/openspec@1.13.2"
Put = Callable[[Mapping[str, str | bytes]], Path]

CONFIG = """\
# how we work
schema: spec-driven  # the usual
context: |
  A shop that sells things.

  It is small.
rules:
  proposal:
    - Keep it short
    - ""
operations:
  apply:
    guidance: [Run the tests]
"""
OWN_SCHEMA = """\
name: own
version: 1
description: Two steps
artifacts:
  - id: plan
    generates: plan.md
    description: The plan
    template: plan.md
    instruction: |
      Plan it.
  - id: contracts
    generates: specs/**/*.md
    description: The deltas
    template: c.md
    requires: [plan]
apply:
  requires: [contracts]
  tracks: plan.md
"""


def openspec(project: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([OPENSPEC, *arguments], cwd=project, capture_output=True, text=True)


def answer(project: Path, *arguments: str, code: int = 0) -> Any:
    """What a command prints as JSON, and ends with."""
    done = openspec(project, *arguments, "--json")
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def begun(put: Put) -> Path:
    """A project with a configuration, and a change that was begun."""
    project = put({"openspec/config.yaml": CONFIG, "openspec/specs/.gitkeep": ""})
    answer(project, "new", "change", "add-lockout")
    return project.resolve()


def states(project: Path) -> list[str]:
    shown = answer(project, "status", "--change", "add-lockout")
    return [f"{one['id']}: {one['status']}" for one in shown["artifacts"]]


def test_a_change_is_begun_with_its_metadata_alone(put: Put) -> None:
    project = put({"openspec/config.yaml": "schema: spec-driven\n"}).resolve()

    texts = ("--goal", "Lock: accounts", "--description", "D")
    made = answer(project, "new", "change", "add-x", *texts)

    folder = project / "openspec/changes/add-x"
    assert made["change"] == {
        "id": "add-x",
        "path": str(folder),
        "metadataPath": str(folder / ".openspec.yaml"),
        "schema": "spec-driven",
    }
    assert (folder / ".openspec.yaml").read_text() == (
        f"schema: spec-driven\ncreated: {date.today()}\ngoal: 'Lock: accounts'\n"
    )
    assert (folder / "README.md").read_text() == "# add-x\n\nD\n"
    assert sorted(path.name for path in folder.iterdir()) == [".openspec.yaml", "README.md"]
    again = answer(project, "new", "change", "add-x", code=1)
    assert (again["change"], again["status"][0]["code"]) == (None, "change_error")


@pytest.mark.parametrize("name", ["Add", "a_b", "-a", "a-", "a--b", "a b", "../x", "a" * 201, "ä"])
def test_a_change_with_another_name_than_kebab_case_is_not_begun(put: Put, name: str) -> None:
    project = put({"openspec/config.yaml": "schema: spec-driven\n"})

    done = openspec(project, "new", "change", "--json", "--", name)

    assert done.returncode == 1
    assert json.loads(done.stdout)["status"][0]["code"] == "change_error"
    assert not (project / "openspec/changes").exists()


def test_the_status_follows_the_files_of_a_change(begun: Path) -> None:
    folder = begun / "openspec/changes/add-lockout"
    assert states(begun) == [
        "proposal: ready", "specs: blocked", "design: blocked", "tasks: blocked",
    ]  # fmt: skip
    (folder / "proposal.md").write_text("## Why\nw\n")
    assert states(begun) == [
        "proposal: done", "specs: ready", "design: ready", "tasks: blocked",
    ]  # fmt: skip
    (folder / ".openspec.yaml").write_text("schema: spec-driven\nskip_specs: true\n")
    (folder / "design.md").write_text("d\n")
    assert states(begun) == [
        "proposal: done", "specs: skipped", "design: done", "tasks: ready",
    ]  # fmt: skip
    (folder / "tasks.md").write_text("- [ ] 1.1 t\n")
    shown = answer(begun, "status", "--change", "add-lockout")
    assert shown["isComplete"] and shown["applyRequires"] == ["tasks"]
    assert shown["artifactPaths"]["tasks"]["existingOutputPaths"] == [str(folder / "tasks.md")]
    assert "instructions apply" in shown["nextSteps"][0]


def test_instructions_bring_template_context_rules_and_what_it_builds_on(begun: Path) -> None:
    shown = answer(begun, "instructions", "proposal", "--change", "add-lockout")

    assert shown["template"].startswith("# Proposal\n\n## Why\n")
    assert shown["context"] == "A shop that sells things.\n\nIt is small."
    assert shown["rules"] == ["Keep it short"]
    assert shown["unlocks"] == ["specs", "design"]
    assert shown["dependencies"] == []
    specs = answer(begun, "instructions", "specs", "--change", "add-lockout")
    assert [(one["id"], one["done"]) for one in specs["dependencies"]] == [("proposal", False)]
    text = openspec(begun, "instructions", "specs", "--change", "add-lockout").stdout
    assert "<project_context>" in text and "is missing: proposal" in text


def test_apply_is_blocked_ready_and_done_by_the_tasks(begun: Path) -> None:
    folder = begun / "openspec/changes/add-lockout"

    def apply() -> Any:
        return answer(begun, "instructions", "apply", "--change", "add-lockout")

    blocked = apply()
    assert (blocked["state"], blocked["missingArtifacts"]) == ("blocked", ["tasks"])
    assert blocked["missingPrerequisites"] == ["proposal", "specs", "design", "tasks"]
    assert blocked["operationGuidance"] == ["Run the tests"]
    (folder / "tasks.md").write_text("- [x] 1.1 one\n- [ ] 1.2 two\n- [ ]\n")
    ready = apply()
    assert (ready["state"], ready["progress"]["remaining"]) == ("ready", 2)
    assert [task["description"] for task in ready["tasks"]] == ["1.1 one", "1.2 two"]
    assert "skip_specs" in ready["warnings"][0]
    (folder / "tasks.md").write_text("- [x] 1.1 one\n")
    assert apply()["state"] == "all_done"


def test_a_projects_own_schema_is_followed_and_its_texts_are_passed_on(put: Put) -> None:
    template = "# Plan <!-- ä -->\r\n\r\n"
    project = put(
        {
            "openspec/schemas/own/schema.yaml": OWN_SCHEMA,
            "openspec/schemas/own/templates/plan.md": template,
            "openspec/schemas/own/templates/c.md": "c",
            "openspec/config.yaml": "schema: own\n",
        }
    )
    answer(project, "new", "change", "a")

    assert [one["id"] for one in answer(project, "status", "--change", "a")["artifacts"]] == [
        "plan",
        "contracts",
    ]
    shown = answer(project, "instructions", "plan", "--change", "a")
    assert (shown["template"], shown["instruction"]) == (template, "Plan it.\n")
    assert [(one["name"], one["source"]) for one in answer(project, "schemas")] == [
        ("own", "project"),
        ("spec-driven", "package"),
    ]


def test_schemas_are_copied_made_and_checked(begun: Path) -> None:
    forked = answer(begun, "schema", "fork", "spec-driven", "mine")
    assert forked["sourceLocation"] == "package"
    assert answer(begun, "schema", "validate", "mine")["valid"]
    (begun / "openspec/schemas/mine/templates/spec.md").unlink()
    report = answer(begun, "schema", "validate", "mine", code=1)
    assert [issue["path"] for issue in report["issues"]] == ["artifacts.specs.template"]
    made = answer(begun, "schema", "init", "short", "--artifacts", "proposal,tasks")
    assert made["artifacts"] == ["proposal", "tasks"]
    assert answer(begun, "schema", "validate", "short")["valid"]
    assert "already exists" in answer(begun, "schema", "init", "short", code=1)["error"]
    missing = answer(begun, "schema", "which", "nope", code=1)
    assert missing["available"] == ["mine", "short", "spec-driven"]


def test_the_built_in_schema_is_what_its_file_says(tmp_path: Path) -> None:
    """Most commands read no YAML; what they use instead must agree with it."""
    read = Schemas([tmp_path], Files()).place("spec-driven").schema

    assert read.apply is not None and SPEC_DRIVEN.apply is not None
    assert read.apply.requires == SPEC_DRIVEN.apply.requires
    assert read.tasks == SPEC_DRIVEN.tasks
    assert [(a.id, a.generates, a.template, a.requires) for a in read.artifacts] == [
        (a.id, a.generates, a.template, a.requires) for a in SPEC_DRIVEN.artifacts
    ]


def test_what_a_new_change_saw_is_the_base_of_its_deltas(put: Put) -> None:
    """The delta is written after another change was archived, against the spec from before."""
    spec = (
        "# s\n\n## Purpose\nA purpose that is long enough to be called a purpose.\n\n"
        "## Requirements\n\n### Requirement: R\nIt SHALL be one.\nIt SHALL be two.\n\n"
        "#### Scenario: S\n- **WHEN** a\n- **THEN** b\n"
    )
    block = spec[spec.index("### R") :]
    delta = "## MODIFIED Requirements\n\n{}"
    project = put({"openspec/specs/s/spec.md": spec, "openspec/config.yaml": CONFIG})
    answer(project, "new", "change", "late")
    early = delta.format(block.replace("be one", "be the first"))
    put({"openspec/changes/early/specs/s/spec.md": early})
    late = delta.format(f"{block}- **AND** c\n")
    put({"openspec/changes/late/specs/s/spec.md": late})
    answer(project, "archive", "early", "--yes")

    answer(project, "archive", "late", "--yes")

    text = (project / "openspec/specs/s/spec.md").read_text()
    assert "be the first" in text and "- **AND** c" in text


def test_doctor_names_what_is_missing_or_stands_in_the_way(put: Put) -> None:
    project = put({"openspec/specs": "", "openspec/changes/archive/.gitkeep": ""})
    root = json.loads(openspec(project, "doctor", "--json").stdout)["root"]
    assert [one["code"] for one in root["status"]] == [
        "openspec_config_missing",
        "openspec_specs_not_directory",
    ]
    (project / "openspec/specs").unlink()
    (project / "openspec/config.yaml").write_text("schema: [")
    sound = json.loads(openspec(project, "doctor", "--json").stdout)
    assert sound["root"]["healthy"]
    assert [one["code"] for one in sound["status"]] == ["root_pointer_invalid"]


def test_the_older_spellings_tell_failures_as_text_and_list_what_cannot_be_read(
    begun: Path,
) -> None:
    (begun / "openspec/changes/odd").mkdir()
    (begun / "openspec/changes/odd/specs").write_text("a file")
    listed = openspec(begun, "change", "list", "--json")
    assert {row["id"]: row["title"] for row in json.loads(listed.stdout)}["odd"] in (
        "odd",
        "Unknown",
    )
    for arguments in (("change", "validate"), ("spec", "show", "nope"), ("change", "show", "odd")):
        failed = openspec(begun, *arguments, "--json")
        assert (failed.returncode, failed.stdout) == (1, "") and "Error: " in failed.stderr
    status = openspec(begun, "status", "--change", "odd", "--json")
    assert json.loads(status.stdout)["status"][0]["code"] == "change_error"


@pytest.mark.parametrize("command", ["workset", "feedback"])
def test_what_is_not_supported_is_refused_by_name(begun: Path, command: str) -> None:
    done = openspec(begun, command, "x")

    assert done.returncode == 1
    assert f"'{command}' is not supported" in done.stderr and "Fix: " in done.stderr


@pytest.mark.anyio
async def test_the_tool_shows_exactly_the_next_artifact(server: list[str], begun: Path) -> None:
    folder = begun / "openspec/changes/add-lockout"
    async with stdio_client(server, cwd=begun) as client:
        first = await client.value("show", name="add-lockout", part="next")
        (folder / "proposal.md").write_text("## Why\nw\n")
        second = await client.value("show", name="add-lockout", part="next")
        apply = await client.value("show", name="add-lockout", part="apply")

    assert first["artifactId"] == "proposal"
    assert first["template"].startswith("# Proposal")
    assert first["rules"] == ["Keep it short"]
    assert (second["artifactId"], second["artifacts"]["proposal"]) == ("specs", "done")
    assert apply["state"] == "blocked"


@pytest.mark.anyio
async def test_the_configurations_context_stands_beside_project_md(
    server: list[str], begun: Path
) -> None:
    config = begun / "openspec/config.yaml"
    async with stdio_client(server, cwd=begun) as client:
        (only,) = await client.read("openspec://project")
        await client.value("update_project_context", content="# Ours")
        both = await client.read("openspec://project")
        assert config.read_text() == CONFIG
        await client.value("update_project_context", content="A shop.\n\nNew.", target="config")
        after = await client.read("openspec://project")
        with pytest.raises(CallFailed, match="section must be left out"):
            await client.value(
                "update_project_context", content="x", target="config", section="Purpose"
            )

    assert only["text"].startswith("A shop that sells things.")
    assert [one["text"].splitlines()[0] for one in both] == ["# Ours", "A shop that sells things."]
    assert after[1]["text"] == "A shop.\n\nNew.\n"
    assert config.read_text() == CONFIG.replace(
        "  A shop that sells things.\n\n  It is small.\n", "  A shop.\n\n  New.\n"
    )


PROSE = {
    "instruction", "template", "description", "message", "fix", "nextSteps", "constraints",
    "warning", "warnings", "error",
}  # fmt: skip


def comparable(value: Any) -> Any:
    """An answer without prose, of which only counts that it is there."""
    if isinstance(value, dict):
        return {
            key: bool(one) if key in PROSE else comparable(one)
            for key, one in value.items()
            if key != "rule"
        }
    return [comparable(one) for one in value] if isinstance(value, list) else value


@pytest.mark.torture
def test_every_call_of_the_workflow_is_answered_as_by_the_reference_tool(
    begun: Path, tmp_path: Path
) -> None:
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("no Node here: nothing compared")
    installed = subprocess.run(
        ["npm", "install", "--silent", "--no-audit", "--no-fund", REFERENCE], cwd=tmp_path
    )
    if installed.returncode:
        pytest.skip(f"{REFERENCE} cannot be installed here: nothing compared")
    tool = str(tmp_path / "node_modules/.bin/openspec")
    environment = {**os.environ, "OPENSPEC_TELEMETRY": "0", "CI": "1"}
    change = ("--change", "add-lockout")
    lines = [
        ["status"], ["status", "--all"], ["status", *change], ["status", "--change", "nope"],
        ["status", "--all", *change], ["status", "--all", "--schema", "nope"], ["schemas"],
        ["context"], ["store", "list"], ["doctor"], ["change", "list"], ["spec", "list"],
        ["instructions", "apply", *change], ["instructions", "archive", *change],
        ["instructions", "nope", *change], ["instructions", *change], ["instructions", "specs"],
        *(["instructions", one.id, *change] for one in SPEC_DRIVEN.artifacts),
        ["schema", "validate"], ["schema", "validate", "nope"], ["new", "change", "Bad"],
    ]  # fmt: skip
    folder = begun / "openspec/changes/add-lockout"
    for step in ({}, {"proposal.md": "## Why\n"}, {"tasks.md": "- [x] 1 a\n- [ ] b\n- [ ]\n"}):
        for name, text in step.items():
            (folder / name).write_text(text)
        for line in lines:
            theirs = subprocess.run(
                [tool, *line, "--json"], cwd=begun, env=environment, capture_output=True, text=True
            )
            ours = openspec(begun, *line, "--json")
            assert ours.returncode == theirs.returncode, line
            assert comparable(json.loads(ours.stdout)) == comparable(json.loads(theirs.stdout)), (
                line
            )
