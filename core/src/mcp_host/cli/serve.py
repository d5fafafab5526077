"""`mcp-host serve`: read without typer, which would cost each conversation a tenth of a second."""

from __future__ import annotations

import sys

from .. import __version__
from ..options import add_options, identity, overridden, quickly
from ..serving import Serving, serve
from ..trust import NO_PACKS, choose, is_safe_mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import NoReturn

    from ..settings import Settings
    from ..trust import Choice


def main(arguments: Sequence[str]) -> NoReturn:
    """Serve the packs that the settings file enables."""
    given = quickly(arguments, "stdio") or parser().parse_args(arguments)
    choice = choose(given.config)
    for line in _notices(choice):
        print(line, file=sys.stderr)
    no_packs = is_safe_mode()
    what = Serving(
        name="mcp-host",
        version=lambda: __version__,
        transport=given.transport,
        identity=None if no_packs else identity("mcp-host", choice.file, given),
    )
    serve(what, lambda: overridden(read_settings(choice, no_packs), given))


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="mcp-host serve", description="Serve the enabled packs to MCP clients."
    )
    add_options(parser, "stdio")
    return parser


def read_settings(choice: Choice, no_packs: bool) -> Settings:
    """The chosen settings; empty ones where there is no file."""
    from ..settings import Settings, load  # after a client may have had its first answers

    path = choice.path
    settings = load(path) if path is not None else Settings()
    return settings.replace(packs={}) if no_packs else settings


def _notices(choice: Choice) -> list[str]:
    notices = [choice.notice] if choice.notice else []
    if choice.path is None and not choice.notice:
        notices.append("no settings file: no packs are served. Make one with: mcp-host init")
    if is_safe_mode():
        notices.append(f"{NO_PACKS}=1: no packs are served")
    return notices
