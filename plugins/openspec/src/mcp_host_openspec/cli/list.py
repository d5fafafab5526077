"""`openspec list`."""

from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path

from ..errors import OpenSpecError
from ..service import OpenSpec, shapes
from ..service.views import ChangeRow
from ..storage.files import exists
from .output import CommandError, complain, failure, print_json, say
from .roots import open_tree


def run(options: Namespace) -> int:
    """List the changes, or the specs."""
    empty: dict[str, object] = (
        {"specs": [], "root": None} if options.specs else {"changes": [], "root": None}
    )
    try:
        # A project of the old layout may have nothing but project.md yet.
        old_layout = exists(Path.cwd() / "openspec" / "project.md")
        service = open_tree(implicit=old_layout)
        if options.specs:
            _specs(service, as_json=options.json)
        else:
            _changes(service, as_json=options.json, recent_first=options.sort != "name")
    except CommandError as failed:
        failed.payload = empty
        raise
    except OpenSpecError as error:
        raise failure(error, "list_error", payload=empty) from error
    return 0


def _changes(service: OpenSpec, *, as_json: bool, recent_first: bool) -> None:
    rows = service.list_changes(recent_first=recent_first)
    for row in rows:
        if row.problem is not None:  # the reference tool's list ends here
            raise row.problem
    claims = service.overlaps()
    if as_json:
        data: dict[str, object] = {"changes": shapes.change_rows(rows, claims)}
        if warnings := shapes.wrapping_warnings(rows):
            data["warnings"] = warnings
        print_json({**data, "root": shapes.root_of(service.root)})
        return
    if not rows:
        say("No active changes found.")
        return
    say("Changes:")
    width = max(len(row.id) for row in rows)
    for row in rows:
        say(f"  {row.id:<{width}}     {_status(row):<12}  {_age(row.modified)}")
    for row in rows:
        for claim in claims.get(row.id, ()):
            say(f"  {row.id}: {claim} ({claim.capability})")
    for warning in shapes.wrapping_warnings(rows):
        say(f"\nWarning: {warning['message']}")


def _specs(service: OpenSpec, *, as_json: bool) -> None:
    service.check_all_specs()  # the reference tool's list ends where one may not look
    rows = service.list_specs()
    for row in rows:
        if row.problem is not None:
            complain(f"Warning: {row.problem}")
    if as_json:
        print_json({"specs": shapes.spec_rows(rows), "root": shapes.root_of(service.root)})
        return
    if not rows:
        say("No specs found.")
        return
    say("Specs:")
    width = max(len(row.id) for row in rows)
    for row in rows:
        say(f"  {row.id:<{width}}     requirements {row.requirements}")


def _status(row: ChangeRow) -> str:
    if row.nested:
        return "not a change"
    progress = row.progress
    if not progress.total:
        return "No tasks"
    if not progress.remaining:
        return "✓ Complete"
    return f"{progress.completed}/{progress.total} tasks"


def _age(moment: datetime) -> str:
    seconds = int((datetime.now(UTC) - moment).total_seconds())
    for length, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= length:
            return f"{seconds // length}{unit} ago"
    return "just now"
