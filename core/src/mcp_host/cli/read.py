"""`mcp-host read`: one resource at the terminal."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..packs.own_pack import PACKS_URI
from .common import ConfigOption, JsonOption
from .completion import resources
from .running import Terminal, run


def read(
    uri: Annotated[str, typer.Argument(help="The resource's URI.", autocompletion=resources)],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read a resource."""

    async def called(terminal: Terminal) -> dict[str, Any]:
        if uri == PACKS_URI:
            await terminal.host.settled()  # a moment after the start it would say `opening` of all
        return (await terminal.host.read(uri, terminal.context())).data

    run(config, called, as_json)
