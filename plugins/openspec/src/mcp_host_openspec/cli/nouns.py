"""`openspec spec …` and `openspec change …`: the older spelling, with shapes of its own."""

from argparse import Namespace
from typing import Literal

from ..errors import OpenSpecError
from ..model.findings import Report
from ..service import OpenSpec, shapes
from ..service.workflow import by_name
from ..storage.files import exists
from .output import CommandError, complain, failure, print_json, say
from .roots import open_tree
from .show import run as show
from .validate import finding_lines

Kind = Literal["change", "spec"]


def run(options: Namespace) -> int:
    """Show, list or validate changes or specs; what fails is told as text, also with --json."""
    complain(f"Warning: 'openspec {options.command} …' is the older spelling.")
    try:
        return _run(options.command, options)
    except CommandError as failed:
        complain(f"Error: {failed.message}")
        return 1


def _run(kind: Kind, options: Namespace) -> int:
    if options.verb == "show":
        options.type = kind
        return show(options)
    service = open_tree(implicit=True)
    try:
        if options.verb == "list":
            return _list(service, kind, options)
        return _validate(service, kind, options)
    except OpenSpecError as error:
        raise failure(error, f"{kind}_error") from error


def _list(service: OpenSpec, kind: Kind, options: Namespace) -> int:
    rows = _specs(service) if kind == "spec" else _changes(service)
    if options.json and (kind == "change" or exists(service.tree.specs)):
        print_json([facts for facts, _ in rows])
        return 0
    for facts, details in rows:
        say(f"{facts['id']}: {facts['title']} {details}" if options.long else str(facts["id"]))
    if not rows:
        say("No items found")
    return 0


def _specs(service: OpenSpec) -> list[tuple[dict[str, object], str]]:
    if not exists(service.tree.specs):
        return []
    return [
        (
            {"id": row.id, "title": row.id, "requirementCount": row.requirements},
            f"[requirements {row.requirements}]",
        )
        for row in service.list_specs()
        if row.problem is None
    ]


def _changes(service: OpenSpec) -> list[tuple[dict[str, object], str]]:
    rows = []
    for name in by_name(service.change_ids()):
        try:
            view = service.change(name)
        except OpenSpecError:
            done = service.tree.progress(service.tree.change_path(name))
            counts = {"total": done.total, "completed": done.completed}
            facts = {"id": name, "title": "Unknown", "deltaCount": 0, "taskStatus": counts}
            told = f"[deltas unreadable] [tasks {done.completed}/{done.total}]"
            rows.append((facts, told))
            continue
        broken = view.proposal is not None and view.incomplete is not None
        done, count = view.progress, len(view.deltas) if view.proposal and not broken else 0
        facts = {
            "id": name,
            "title": "Unknown" if broken else view.title,
            "deltaCount": count,
            "taskStatus": {"total": done.total, "completed": done.completed},
        }
        rows.append((facts, f"[deltas {count}] [tasks {done.completed}/{done.total}]"))
    return rows


def _validate(service: OpenSpec, kind: Kind, options: Namespace) -> int:
    if options.item is None:
        raise CommandError(f"{kind}_error", f"Name a {kind} to validate.")
    report = service.validate(options.item, kind)
    valid = report.valid(strict=options.strict)
    if options.json:
        print_json(_facts(report, valid=valid))
        return 0 if valid or kind == "change" else 1  # as the reference tool does
    name = f"{'Change' if kind == 'change' else 'Specification'} '{options.item}'"
    (say if valid else complain)(f"{name} {'is valid' if valid else 'has issues'}")
    complain(*finding_lines(report))
    return 0 if valid else 1


def _facts(report: Report, *, valid: bool) -> dict[str, object]:
    counts = {
        "errors": len(report.at("ERROR")),
        "warnings": len(report.at("WARNING")),
        "info": len(report.at("INFO")),
    }
    issues = [shapes.finding(found) for found in report.findings]
    return {"valid": valid, "issues": issues, "summary": counts}
