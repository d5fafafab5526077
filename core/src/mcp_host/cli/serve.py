"""`mcp-host serve`: read without typer, which would cost each conversation a tenth of a second."""

from __future__ import annotations

import sys

from ..serving import start
from ..startup.options import (
    add_options,
    identity,
    quickly,
)
from ..startup.printable import shown
from ..startup.trust import NO_PACKS, choose, is_safe_mode
from ..startup.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import NoReturn

    from ..settings.loading import Settings
    from ..startup.options import Given
    from ..startup.trust import Choice


def main(arguments: Sequence[str]) -> NoReturn:
    """Read a command line, and serve."""
    serve(quickly(arguments, "stdio") or parser().parse_args(arguments))


def serve(given: Given) -> NoReturn:
    """Serve the packs that the settings file enables."""
    choice = choose(given.config)
    for line in _notices(choice):
        print(shown(line), file=sys.stderr)
    no_packs = is_safe_mode()
    what = start.Serving(
        name="mcp-host",
        version=lambda: VERSION,
        transport=given.transport,
        identity=None if no_packs else identity("mcp-host", choice.file, given),
    )
    start.serve(what, lambda: read_settings(choice, no_packs, given))


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="mcp-host serve", description="Serve the enabled packs to MCP clients."
    )
    add_options(parser, "stdio")
    return parser


def read_settings(choice: Choice, no_packs: bool, given: Given) -> Settings:
    """The chosen settings, empty ones where there is no file, and what the command line says."""
    # After a client may have had its first answers.
    from ..settings.loading import Settings, load
    from ..settings.overrides import overridden

    path = choice.path
    settings = load(path, digest=choice.digest) if path is not None else Settings()
    return overridden(settings.replace(packs={}) if no_packs else settings, given)


def _notices(choice: Choice) -> list[str]:
    notices = [choice.notice] if choice.notice else []
    if choice.path is None and not choice.notice:
        notices.append("no settings file: no packs are served. Make one with: mcp-host init")
    if is_safe_mode():
        notices.append(f"{NO_PACKS}=1: no packs are served")
    return notices
