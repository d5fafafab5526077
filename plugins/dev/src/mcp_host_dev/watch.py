"""`mcp-host watch`: the calls of a host that runs, shown live and never changed."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from mcp_host import LiveHost, SettingsError

from .following import follow
from .page import Page
from .printing import Printer


def watch(
    config: Annotated[
        Path | None, typer.Option("--config", help="The host that serves this settings file.")
    ] = None,
    process: Annotated[int | None, typer.Option(help="The host with this process number.")] = None,
    values: Annotated[
        bool, typer.Option("--values", help="Show arguments and answers, not only their shapes.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of the page; 0: a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Show the calls of a running host of this user, live: in the terminal and on a local page.

    Arguments are shown by their types and lengths, answers by their length; with --values what is
    in them, secrets masked. Nothing can be called or changed from here.
    """
    host, printer = _chosen(LiveHost.find(config, process)), Printer()
    feed = host.follow(values=values)
    about = {"process": host.process, "values": values}
    page = Page(host, None, f"process {host.process}", about, port)
    printer.note(f"page  {page.url}")
    printer.note(f"the calls of process {host.process}; Ctrl+C ends this, and not the host:")
    if browser:
        webbrowser.open(page.url)
    follow(feed, page, printer)


def _chosen(found: list[LiveHost]) -> LiveHost:
    if not found:
        raise SettingsError("no such host of yours is running")
    if len(found) > 1:
        several = ", ".join(
            f"{host.process} ({one['settings'] or 'without settings'})"
            for host in found
            for one in host.lists()
        )
        raise SettingsError(f"several hosts are running: {several}; choose one with --process")
    return found[0]
