"""`openspec status`: how far the artifacts of a change are."""

from argparse import Namespace

from ..errors import OpenSpecError
from ..service import OpenSpec, shapes, workflow_shapes
from ..service.workflow import ChangeStatus, Workflow, by_name
from .output import CommandError, Data, complain, print_json, say
from .roots import open_tree

_BOXES = {"done": "[x]", "skipped": "[~]", "ready": "[ ]", "blocked": "[-]"}


def run(options: Namespace) -> int:
    """Show one change, or with --all all of them."""
    service = open_tree(implicit=True)
    payload: Data = {"changes": [], "root": None} if options.all else {}
    if options.all and options.change:
        raise CommandError(
            "change_error", "--all and --change exclude each other.", payload=payload
        )
    try:
        if options.schema:
            service.tree.schemas.place(options.schema)
        if options.change:
            return _one(service, options)
        return _all(service, options)
    except OpenSpecError as error:
        raise change_error(service, error, payload) from error


def change_error(service: OpenSpec, error: OpenSpecError, payload: Data) -> CommandError:
    """What a command about one change says where that cannot be looked at."""
    there = service.change_ids() if error.reason == "not_found" else []
    hint = "\nActive changes:" + "".join(f"\n  {name}" for name in there) if there else ""
    return CommandError("change_error", f"{error}{hint}", payload=payload)


def _one(service: OpenSpec, options: Namespace) -> int:
    status = Workflow(service.tree).status(options.change, options.schema)
    if options.json:
        root = shapes.root_of(service.root)
        print_json({**workflow_shapes.status(status, service.root), "root": root})
    else:
        _print(status)
    return 0


def _all(service: OpenSpec, options: Namespace) -> int:
    root = shapes.root_of(service.root)
    changes = by_name(service.change_ids())
    if not changes:
        if options.json:
            print_json({"changes": [], "message": "No active changes.", "root": root})
        else:
            say("No active changes. Begin one with: openspec new change <name>")
        return 0
    if not options.all:
        listed = "".join(f"\n  {name}" for name in changes)
        raise CommandError(
            "change_error", f"Name a change with --change, or give --all. Active changes:{listed}"
        )
    entries: list[Data] = []
    failed = False
    for number, change in enumerate(changes):
        try:
            status = Workflow(service.tree).status(change, options.schema)
        except OpenSpecError as error:
            failed = True
            told = {"severity": "error", "code": "change_error", "message": str(error)}
            entries.append({"changeName": change, "status": [told]})
            if not options.json:
                complain(f"✗ {change}: {error}")
            continue
        entries.append(workflow_shapes.status(status, service.root))
        if not options.json:
            if number:
                say("")
            _print(status)
    if options.json:
        print_json({"changes": entries, "root": root})
    return int(failed)


def _print(status: ChangeStatus) -> None:
    done = sum(one.state == "done" for one in status.artifacts)
    skipped = sum(one.state == "skipped" for one in status.artifacts)
    say(
        f"Change: {status.change}",
        f"Schema: {status.place.name}",
        f"Change root: {status.folder}",
        f"Progress: {done}/{len(status.artifacts) - skipped} artifacts complete"
        + (f" ({skipped} skipped)" if skipped else ""),
        "",
    )
    for one in status.artifacts:
        reason = " (skipped: the change says skip_specs)" if one.state == "skipped" else ""
        if one.missing:
            reason = f" (blocked by: {', '.join(one.missing)})"
        say(f"{_BOXES[one.state]} {one.artifact.id}{reason}")
    if status.complete:
        say("", "All planning artifacts complete!")
    if command := workflow_shapes.next_command(status):
        say(*([] if status.complete else [""]), f"Next: {command}")
