"""`mcp-host read`: one resource at the terminal."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..packs.own_pack import PACKS_URI
from .arguments import shifted
from .common import JsonOption, SourceOption
from .completion import resources
from .running import Terminal, run


def read(
    uri: Annotated[
        str,
        typer.Argument(
            help="The resource's URI; before it, a file of Python or a project's folder may stand.",
            autocompletion=resources,
        ),
    ],
    behind: Annotated[
        list[str] | None, typer.Argument(metavar="[URI]", help="The URI behind a path.")
    ] = None,
    config: SourceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read a resource."""
    config, uri, more = shifted(uri, behind, config, "resource")
    if more:
        raise typer.BadParameter(f"one URI must be given, not also {' '.join(more)}")

    async def called(terminal: Terminal) -> dict[str, Any]:
        if uri == PACKS_URI:
            await terminal.host.settled()  # a moment after the start it would say `opening` of all
        return (await terminal.host.read(uri, terminal.context())).data

    run(config, called, as_json)
