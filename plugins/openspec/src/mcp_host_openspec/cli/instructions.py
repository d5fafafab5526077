"""`openspec instructions`: what is needed to write an artifact, to apply and to archive."""

import re
from argparse import Namespace
from pathlib import Path

from ..errors import OpenSpecError
from ..service import OpenSpec, shapes, workflow_shapes
from ..service.workflow import ApplyInstructions, ArtifactInstructions, Workflow
from .output import CommandError, Data, print_json, say
from .roots import open_tree
from .status import change_error


def run(options: Namespace) -> int:
    """Print the instructions for one artifact, or for an operation."""
    service = open_tree(implicit=True)
    if options.change is None:
        there = "".join(f"\n  {name}" for name in service.change_ids())
        raise CommandError("change_error", f"Name a change with --change. Active changes:{there}")
    try:
        if options.schema:
            service.tree.schemas.place(options.schema)
        if options.item == "apply":
            _apply(service, options)
        elif options.item == "archive":
            _archive(service, options)
        else:
            _artifact(service, options)
    except OpenSpecError as error:
        raise change_error(service, error, {}) from error
    return 0


def _root(service: OpenSpec) -> Data:
    return {"root": shapes.root_of(service.root)}


def _artifact(service: OpenSpec, options: Namespace) -> None:
    status = Workflow(service.tree).status(options.change, options.schema)
    known = [one.id for one in status.schema.artifacts]
    if options.item not in known:
        listed = "".join(f"\n  {name}" for name in known)
        asked = f"no artifact '{options.item}'" if options.item else "an artifact to be named"
        raise CommandError(
            "change_error", f"The schema '{status.place.name}' has {asked}. There are:{listed}"
        )
    shown = Workflow(service.tree).instructions(options.change, options.item, options.schema)
    if options.json:
        print_json({**workflow_shapes.instructions(shown, service.root), **_root(service)})
    else:
        _print_artifact(shown)


def _print_artifact(shown: ArtifactInstructions) -> None:
    artifact, status = shown.artifact.artifact, shown.status
    say(
        f'<artifact id="{_attribute(artifact.id)}" change="{_attribute(status.change)}" '
        f'schema="{_attribute(status.place.name)}">',
        "",
    )
    if shown.artifact.state == "skipped":
        _element("warning", workflow_shapes.SKIPPED)
        say("</artifact>")
        return
    missing = [one.artifact.id for one in shown.dependencies if not _is_there(one.state)]
    if missing:
        _element("warning", f"What it builds on is missing: {', '.join(missing)}. Make it first.")
    task = f'Write the artifact {artifact.id} of the change "{status.change}".'
    _element("task", _text(f"{task}\n{artifact.description}"))
    if shown.context:
        _element("project_context", f"{_NOT_IN_OUTPUT}\n{_text(shown.context)}")
    if shown.rules:
        rules = "\n".join(f"- {_text(' '.join(rule.split()))}" for rule in shown.rules)
        _element("rules", f"{_NOT_IN_OUTPUT}\n{rules}")
    if shown.dependencies:
        _element("dependencies", _dependencies(shown, status.folder))
    _element("output", f"Write to: {shown.artifact.path}")
    if artifact.instruction:
        _element("instruction", _text(artifact.instruction.strip()))
    _element("template", f"<!-- The form of the file. -->\n{_text(shown.template.strip())}")
    if shown.unlocks:
        _element("unlocks", f"After this: {', '.join(shown.unlocks)}")
    say("</artifact>")


_NOT_IN_OUTPUT = "<!-- For you to know and to follow; none of it belongs into the file. -->"
_OWN_TAG = re.compile(
    r"<(/?)(artifact|warning|task|project_context|rules|dependencies|dependency|output|"
    r"instruction|template|unlocks)\b"
)


def _dependencies(shown: ArtifactInstructions, folder: Path) -> str:
    lines = ["Read these files as they are now, before you write:", ""]
    for one in shown.dependencies:
        state = "done" if one.state == "done" else "missing"
        state = "skipped" if one.state == "skipped" else state
        lines.append(f'<dependency id="{_attribute(one.artifact.id)}" status="{state}">')
        if state != "skipped":
            lines.append(f"  <path>{folder / one.artifact.generates}</path>")
        lines.append(f"  <description>{_text(one.artifact.description)}</description>")
        lines.append("</dependency>")
    return "\n".join(lines)


def _element(name: str, text: str) -> None:
    say(f"<{name}>", text, f"</{name}>", "")


def _is_there(state: str) -> bool:
    return state in ("done", "skipped")


def _attribute(text: str) -> str:
    return _text(text).replace('"', "&quot;").replace("\n", " ")


def _text(text: str) -> str:
    """A text in which nothing looks like one of our own tags."""
    return _OWN_TAG.sub(r"&lt;\1\2", text)


def _apply(service: OpenSpec, options: Namespace) -> None:
    shown = Workflow(service.tree).apply_instructions(options.change, options.schema)
    data = workflow_shapes.apply(shown)
    if options.json:
        print_json({**data, **_root(service)})
    else:
        _print_apply(shown, data)


def _print_apply(shown: ApplyInstructions, data: Data) -> None:
    say(f"## Apply: {shown.status.change}", f"Schema: {shown.status.place.name}", "")
    if shown.missing:
        say("### ⚠️ Blocked", "", f"Missing artifacts: {', '.join(shown.missing)}", "")
    if warnings := data.get("warnings"):
        say("### ⚠️ Warnings", "", *(f"- {one}" for one in warnings), "")
    if files := data["contextFiles"]:
        listed = (f"- {name}: {path}" for name, paths in files.items() for path in paths)
        say("### Context Files", *listed, "")
    if shown.total:
        mark = " ✓" if shown.state == "all_done" else ""
        say("### Progress", f"{shown.completed}/{shown.total} complete{mark}", "")
    if shown.tasks:
        boxes = (f"- [{'x' if done else ' '}] {text}" for text, done in shown.tasks)
        say("### Tasks", *boxes, "")
    say("### Instruction", data["instruction"], "")
    _print_operation(data)


def _archive(service: OpenSpec, options: Namespace) -> None:
    Workflow(service.tree).check(options.change)
    data = workflow_shapes.operation(service.tree.config, "archive")
    if options.json:
        print_json({"changeName": options.change, **data, **_root(service)})
        return
    say(f"## Archive Inputs: {options.change}", "")
    _print_operation(data)
    if not data:
        say("The project has neither context nor guidance for this.")


def _print_operation(data: Data) -> None:
    if "context" in data:
        say("### Project Context (required instruction input)", data["context"], "")
    if "operationGuidance" in data:
        guidance = (f"- {' '.join(one.split())}" for one in data["operationGuidance"])
        say("### Operation Guidance (advisory)", *guidance, "")
