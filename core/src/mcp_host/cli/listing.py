"""What the commands share that list: what clients will see, in a table or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import Output, chosen_settings, is_written, loaded, quiet_logs, saved_catalogue

if TYPE_CHECKING:
    from ..packs.entry import What

PathArgument = Annotated[
    Path | None,
    typer.Argument(
        help="A file of Python or a project's folder, for what is written there.",
        show_default=False,
    ),
]


def show_lists(
    config: Path | None,
    as_json: bool,
    columns: Sequence[str],
    row: Callable[[Any], Sequence[str]],
    *lists: What,
) -> None:
    """Print these lists as clients see them; `row` makes the columns of one item."""
    output = Output()
    items = items_of(config, *lists)
    if as_json:
        output.json(items)
    else:
        output.table(columns, map(row, items), _nothing(config, lists[0]))


def _nothing(config: Path | None, what: What) -> str:
    """What to say in place of an empty list."""
    if not is_written(config):
        return f"no {what}; `mcp-host packs` says why"
    packs = loaded(chosen_settings(config)).packs.values()
    failed = [pack for pack in packs if pack.condition.state == "failed"]
    why = "".join(f"\n{pack.name}: {pack.condition.reason}" for pack in failed)
    return f"{config} has no {what}{why}"


def at_path(path: Path | None, config: Path | None) -> Path | None:
    """Where packs are: at a path that was given, or as `--config` says."""
    if path is not None and config is not None:
        raise typer.BadParameter(f"{path} and --config must not both be given")
    if path is not None and not is_written(path):
        raise typer.BadParameter(f"{path} must be a file of Python or a project's folder")
    return config if path is None else path


def items_of(config: Path | None, *lists: What) -> list[Any]:
    """What these lists hold; from the saved catalogue where that is good."""
    items = _saved_items(config, lists)
    return _loaded_items(config, lists) if items is None else items


def _saved_items(config: Path | None, lists: Sequence[What]) -> list[Any] | None:
    """The lists of the saved catalogue; None where it is not good, or holds not all of them."""
    found = saved_catalogue(config)
    if found.catalogue is None or found.refusal:
        return None
    pages = [found.catalogue.pages[what] for what in lists]
    if any("nextCursor" in page for page in pages):
        return None
    return [item for what, page in zip(lists, pages, strict=True) for item in page[what]]


def _loaded_items(config: Path | None, lists: Sequence[What]) -> list[Any]:
    from ..declarations.context import Caller

    settings = chosen_settings(config)
    quiet_logs(settings, "warning")
    inventory = loaded(settings)
    return [item for what in lists for item in inventory.lists.visible(what, Caller())]
