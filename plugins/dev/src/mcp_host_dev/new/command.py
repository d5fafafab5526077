"""The command, and what it tells a person to do next."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ..texts import plain
from .names import Names, check_free
from .template import write


def new(
    name: Annotated[str, typer.Argument(help="The pack's name: tools are called NAME_tool.")],
    full: Annotated[
        bool, typer.Option("--full", help="A file for each role, as larger packs have them.")
    ] = False,
    distribution: Annotated[
        str | None,
        typer.Option(help="What pip installs; mcp-host-NAME unless told.", show_default=False),
    ] = None,
    author: Annotated[
        str, typer.Option(help="Whose the licence is.", show_default=False)
    ] = "The authors",
    folder: Annotated[
        Path | None,
        typer.Option("--into", help="The folder to make; that of the distribution unless told."),
    ] = None,
) -> None:
    """Make a pack to begin with: code, a test, licence, README, CI and publishing.

    Nothing that exists is written over.
    """
    names = Names.of(name, distribution)
    check_free(names)
    made = Path(folder or names.distribution)
    written = write(names, author, made, full=full)
    typer.echo(plain(f"Made {made} with {len(written)} files: the pack {names.pack}."))
    typer.echo("Next:")
    for line in (
        *([] if made == Path() else [f"cd {shlex.quote(str(made))}"]),
        'pip install -e ".[test]"',
        "pytest",
        "mcp-host trust",
        f"mcp-host call {names.pack}_{'add text=hello' if full else 'greet name=Ada'}",
        "mcp-host dev",
    ):
        typer.echo(plain(f"  {line}"))
