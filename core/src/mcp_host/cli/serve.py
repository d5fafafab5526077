"""`mcp-host serve`: read with argparse; typer would cost each conversation a tenth of a second."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from .. import __version__
from ..serving import Serving, serve
from ..standalone import add_options, identity, overridden
from ..trust import NO_PACKS, Choice, choose, is_safe_mode

if TYPE_CHECKING:
    from ..settings import Settings


def main(arguments: Sequence[str]) -> NoReturn:
    """Serve the packs that the settings file enables."""
    given = parser().parse_args(arguments)
    choice = choose(given.config)
    for line in _notices(choice):
        print(line, file=sys.stderr)
    no_packs = is_safe_mode()
    what = Serving(
        name="mcp-host",
        version=__version__,
        transport=given.transport,
        identity=None if no_packs else identity("mcp-host", choice.path, given),
    )
    serve(what, lambda: overridden(read_settings(choice, no_packs), given))


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    parser = argparse.ArgumentParser(
        prog="mcp-host serve", description="Serve the enabled packs to MCP clients."
    )
    add_options(parser, "stdio")
    return parser


def read_settings(choice: Choice, no_packs: bool) -> Settings:
    """The chosen settings; empty ones where there is no file."""
    from ..settings import Settings, load  # after a client may have had its first answers

    settings = load(choice.path) if choice.path is not None else Settings()
    return settings.replace(packs={}) if no_packs else settings


def _notices(choice: Choice) -> list[str]:
    notices = [choice.notice] if choice.notice else []
    if choice.path is None and not choice.notice:
        notices.append("no settings file: no packs are served. Make one with: mcp-host init")
    if is_safe_mode():
        notices.append(f"{NO_PACKS}=1: no packs are served")
    return notices
