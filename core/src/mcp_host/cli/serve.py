"""`mcp-host serve`: read with argparse; typer would cost each conversation a tenth of a second."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from .. import __version__
from ..serving import Serving, serve
from ..settings import Settings, load
from ..standalone import add_options, overridden
from ..trust import choose

NO_PACKS = "MCP_HOST_NO_PACKS"


def main(arguments: Sequence[str]) -> NoReturn:
    """Serve the packs that the settings file enables."""
    given = parser().parse_args(arguments)
    what = Serving(name="mcp-host", version=__version__, transport=given.transport)
    serve(what, lambda: overridden(read_settings(given), given))


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    parser = argparse.ArgumentParser(
        prog="mcp-host serve", description="Serve the enabled packs to MCP clients."
    )
    add_options(parser, "stdio")
    return parser


def read_settings(given: argparse.Namespace) -> Settings:
    """The chosen settings; none at all where there is no file, which is said on standard error."""
    choice = choose(given.config)
    if choice.notice:
        print(choice.notice, file=sys.stderr)
    if choice.path is None:
        print(
            "no settings file: no packs are served. Make one with: mcp-host init", file=sys.stderr
        )
        return Settings()
    settings = load(choice.path)
    if os.environ.get(NO_PACKS) == "1":
        print(f"{NO_PACKS}=1: no packs are served", file=sys.stderr)
        return settings.replace(packs={})
    return settings
