"""The application that puts the commands together."""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from .. import __version__
from ..errors import SettingsError
from ..serving import EXIT_ERROR, EXIT_OK, leave
from . import calling, enabling, init, install, lists, packs
from .common import ConfigOption, JsonOption
from .config import config_app

app = typer.Typer(
    name="mcp-host",
    help="One small MCP server that serves packs: installed Python packages with tools, "
    "resources and prompts.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """What may stand before a command."""


app.command()(init.init)
app.command()(init.trust)


@app.command(
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def serve(context: typer.Context) -> None:
    """Serve the enabled packs to MCP clients, on stdio or HTTP."""
    from .serve import main

    main(context.args)


app.command()(packs.packs)
app.command()(enabling.enable)
app.command()(enabling.disable)
app.command()(lists.tools)
app.command()(lists.resources)
app.command()(lists.prompts)
app.command()(calling.call)
app.command()(calling.read)
app.command()(calling.prompt)
app.command()(install.install)
app.command()(install.uninstall)
app.add_typer(config_app, name="config")


@app.command()
def doctor(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Look whether all is well, and say what is wrong and what to do."""
    from .doctor import doctor as examine

    examine(config, as_json)


@app.command()
def demo(
    names: Annotated[
        list[str] | None, typer.Argument(help="Packs to show; all that are installed.")
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the scratch folder where it is.")
    ] = False,
) -> None:
    """Start the host on a scratch folder and watch every installed pack at work."""
    from .demo import demo as show

    show(names, keep)


def main() -> NoReturn:
    """Run a command and end the process with its exit code; docs/reference/commands.md has them."""
    leave(_run())


def _run() -> int:
    try:
        app(prog_name="mcp-host")
    except SettingsError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_ERROR
    except BrokenPipeError:  # whoever read the answer has read enough
        return EXIT_ERROR
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_ERROR
    except SystemExit as stop:  # typer has said what there was to say
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
        return stop.code if isinstance(stop.code, int) else EXIT_ERROR
    return EXIT_OK
