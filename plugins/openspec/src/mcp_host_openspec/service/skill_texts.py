"""The texts of skills and slash commands, as each assistant reads them."""

import re
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from .. import __version__
from ..model.assistants import SKILLS, Assistant, Commands, Delivery
from ..storage.yaml12 import load

_FOLDER: Final = Path(__file__).parents[1] / "skills"
_REFERENCE: Final = re.compile(r"`?/opsx:([a-z-]+)`?")
_INCLUDE: Final = re.compile(r"\{\{(\w+)\}\}")

_WITHOUT: Final = {
    "propose": "openspec new change",
    "explore": "openspec list --specs",
    "new": "openspec new change",
    "continue": "openspec instructions",
    "apply": "openspec instructions apply",
    "update": "openspec status",
    "ff": "openspec new change",
    "sync": "openspec diff",
    "archive": "openspec archive",
    "bulk-archive": "openspec archive",
    "verify": "openspec validate",
    "onboard": "openspec help",
}
"""What a text names in place of a workflow that is not installed."""


class Workflow(NamedTuple):
    """One workflow in our words."""

    id: str
    facts: dict[str, Any]
    text: str


@cache
def workflow(name: str) -> Workflow:
    """Read one workflow."""
    head, body = _read(name).removeprefix("---\n").split("---\n", 1)
    whole = _INCLUDE.sub(lambda part: _read(f"_{part[1]}").strip(), body)
    return Workflow(name, load(head), whole.strip())


def _read(name: str) -> str:
    return (_FOLDER / f"{name}.md").read_text("utf-8")


def skill(name: str, assistant: Assistant, delivery: Delivery, installed: Collection[str]) -> str:
    """The SKILL.md of one workflow."""
    flow = workflow(name)
    text = _with_references(flow.text, installed, _skill_spelling(assistant, delivery))
    return (
        "---\n"
        f"name: {flow.facts['skill']}\n"
        f"description: {flow.facts['description']}\n"
        "allowed-tools: Bash(openspec:*)\n"
        "license: MIT\n"
        "compatibility: Requires openspec CLI.\n"
        "metadata:\n"
        "  author: openspec\n"
        '  version: "1.0"\n'
        f'  generatedBy: "{__version__}"\n'
        "---\n\n"
        f"{text}\n"
    )


def command(name: str, commands: Commands, installed: Collection[str]) -> str:
    """The file of one slash command."""
    flow = workflow(name)
    text = _with_references(flow.text, installed, commands.spelled)
    return _head(flow, commands, text)


def _with_references(text: str, installed: Collection[str], spelled: Callable[[str], str]) -> str:
    """The text with every `/opsx:…` as the assistant's user would call it."""

    def reference(found: re.Match[str]) -> str:
        name = found[1]
        if name not in SKILLS:
            return found[0]
        told = spelled(name) if name in installed else _WITHOUT[name]
        return told if " " in told and name in installed else f"`{told}`"

    return _REFERENCE.sub(reference, text)


def _skill_spelling(assistant: Assistant, delivery: Delivery) -> Callable[[str], str]:
    """How another workflow is called from a skill."""
    commands = assistant.commands
    if commands is not None and delivery != "skills" and assistant.id != "devin":
        return commands.spelled
    if assistant.id == "codex":
        return lambda name: f"`${SKILLS[name]}` (Codex) or `/{SKILLS[name]}` (other agents)"
    if assistant.skill_prefix is None:
        return lambda name: f"the {SKILLS[name]} skill"
    return lambda name: f"{assistant.skill_prefix}{SKILLS[name]}"


def _head(flow: Workflow, commands: Commands, text: str) -> str:
    """The text with what the assistant expects before it."""
    title, summary = f"OPSX: {flow.facts['title']}", flow.facts["summary"]
    described = f"description: {_quoted(summary)}"
    tags = ", ".join(_quoted(one) for one in flow.facts["tags"])
    tagged = f'category: "Workflow"\ntags: [{tags}]'
    match commands.form:
        case "bare":
            return f"{text}\n"
        case "heading":
            return f"# {title}\n\n{summary}\n\n{text}\n"
        case "toml":
            inner = text.replace("\\", "\\\\").replace('"""', '""\\"')
            return f'description = {_quoted(summary)}\n\nprompt = """\n{inner}\n"""\n'
        case "description":
            lines = [described]
        case "hint":
            lines = [described, "argument-hint: command arguments"]
        case "named":
            lines = [f"name: {_quoted(title)}", described]
        case "tagged":
            lines = [f"name: {_quoted(title)}", described, tagged]
        case "claude":
            allowed = "allowed-tools: Bash(openspec:*)"
            lines = [f"name: {_quoted(title)}", described, allowed, tagged]
        case "codebuddy":
            hint = 'argument-hint: "[command arguments]"'
            lines = [f"name: {_quoted(title)}", described, hint]
        case "continue":
            lines = [f'name: "opsx-{flow.id}"', described, "invokable: true"]
            text = (
                "This workflow is active already: follow it, and call no tool of its name.\n\n"
                + text
            )
        case "id":
            named = f'"{commands.spelled(flow.id)}"'
            id_line = f'id: "opsx-{flow.id}"'
            lines = [f"name: {named}", id_line, 'category: "Workflow"', described]
    return "\n".join(["---", *lines, "---", "", text, ""])


def _quoted(text: str) -> str:
    """A text as a string of YAML and TOML alike."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
