"""`tasky ui`: the plan as a page on this machine, live."""

import webbrowser
from typing import Annotated

import typer

from ..plan import HERE, Folder, followed, plain


def ui(
    port: Annotated[int, typer.Option(help="0 takes a free one.", min=0, max=65535)] = 0,
    write: Annotated[
        bool, typer.Option("--write", help="Let the page change the plan; else it only shows it.")
    ] = False,
    browser: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    folder: Folder = HERE,
) -> None:
    """Show the plan as a page on this machine: board, graph and timeline, live.

    The address that is printed works once: it becomes a cookie of the browser that opens it.
    """
    # Imported here: all other commands do without a web server.
    from .server import serve

    def ready(url: str) -> None:
        typer.echo(plain(f"the plan is shown at {url} (works once; end with Ctrl+C)"))
        if browser:
            webbrowser.open(url)

    with followed(folder) as plan:
        serve(plan, port, write=write, ready=ready)


__all__ = ["ui"]
