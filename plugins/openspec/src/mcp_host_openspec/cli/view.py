"""`openspec view`: the tree on one page."""

from argparse import Namespace

from ..errors import OpenSpecError
from ..service.views import ChangeRow
from .output import failure, say
from .roots import open_tree

_BAR = 20


def run(options: Namespace) -> int:
    """Print how much there is, the changes by how far they are, and the specs."""
    service = open_tree(implicit=True)
    try:
        rows, specs = service.list_changes(recent_first=False), service.list_specs()
    except OpenSpecError as error:
        raise failure(error, "view_error") from error
    draft = [row for row in rows if row.progress.status == "no-tasks"]
    active = [row for row in rows if row.progress.status == "in-progress"]
    done = [row for row in rows if row.progress.status == "complete"]
    total = sum(spec.requirements for spec in specs)
    say(
        "OpenSpec Dashboard",
        "",
        "Summary:",
        f"  Specifications: {len(specs)} specs, {total} requirements",
        f"  Draft Changes: {len(draft)}",
        f"  Active Changes: {len(active)} in progress",
        f"  Completed Changes: {len(done)}",
    )
    _section("Draft Changes", [f"○ {row.id}" for row in draft])
    _section("Active Changes", [f"◉ {row.id}  {_bar(row)}" for row in active])
    _section("Completed Changes", [f"✓ {row.id}" for row in done])
    ordered = sorted(specs, key=lambda spec: -spec.requirements)
    _section("Specifications", [f"▪ {s.id}  {s.requirements} requirements" for s in ordered])
    say("", "In detail: openspec list --changes, openspec list --specs")
    return 0


def _section(title: str, lines: list[str]) -> None:
    if lines:
        say("", title, *(f"  {line}" for line in lines))


def _bar(row: ChangeRow) -> str:
    filled = round(_BAR * row.progress.percentage / 100)
    return f"[{'█' * filled}{'░' * (_BAR - filled)}] {row.progress.percentage}%"
