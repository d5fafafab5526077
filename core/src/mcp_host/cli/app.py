"""The application that puts the commands together."""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from ..errors import SettingsError
from ..serving.serving import EXIT_ERROR, EXIT_OK
from ..serving.start import leave
from ..startup.printable import shown
from ..startup.version import VERSION
from .commands import Commands

app = typer.Typer(
    name="mcp-host",
    cls=Commands,
    help="One small MCP server that serves packs: installed Python packages with tools, "
    "resources and prompts.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        print(VERSION)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """What may stand before a command."""


def main() -> NoReturn:
    """Run a command and end the process with its exit code; docs/reference/commands.md has them."""
    leave(_run())


def _run() -> int:
    try:
        app(prog_name="mcp-host")
    except BrokenPipeError:  # whoever read the answer has read enough
        return EXIT_ERROR
    except (SettingsError, OSError) as error:
        print(f"error: {shown(str(error))}", file=sys.stderr)
        return EXIT_ERROR
    except SystemExit as stop:  # typer has said what there was to say
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
        return stop.code if isinstance(stop.code, int) else EXIT_ERROR
    return EXIT_OK
