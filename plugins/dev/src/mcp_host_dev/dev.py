"""`mcp-host dev`: serves a pack while it is written."""

import contextlib
import signal
import threading
import webbrowser
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from mcp_host import LiveHost, SettingsError

from .following import follow
from .page import Page
from .printing import GREEN, RED, YELLOW, Printer
from .recording import Recorder, recorded
from .serving.client import Client
from .serving.process import HostProcess
from .serving.project import Project, changed, find

LOOK = 0.3
"""Seconds between two looks at the files."""


def dev(
    path: Annotated[
        Path, typer.Argument(help="The folder of the pack, a file of Python, or a settings file.")
    ] = Path(),
    record: Annotated[
        Path | None, typer.Option(help="Write every call with its answer into this file.")
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(help="Make the calls of a file again, compare the answers, and end."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="A key whose values differ each time; with --replay. May be repeated."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of the page; 0: a free one.")] = 0,
    mcp_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of the endpoint for clients; 0: a free one.")
    ] = 0,
    browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Serve a pack while it is written: saved files count at once, calls are shown live.

    Clients connect to the endpoint that is printed, and hear when lists change. The page calls
    tools, answers their questions, and shows every call.
    """
    project, printer = find(path), Printer()
    # As Ctrl+C: whatever ends this command ends its host as well.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with _serving(project, mcp_port, printer) as (url, host, settings):
        if replay is not None:
            raise typer.Exit(_replay(replay, Client(url), ignore or (), printer))
        about = {"endpoint": url, "folder": str(project.folder)}
        page = Page(host, Client(url), ", ".join(project.packs) or "mcp-host", about, port)
        printer.note(f"page      {page.url}")
        printer.note(f"endpoint  {url}  (for clients)")
        watched = ", ".join(str(place) for place in project.packs.values())
        printer.note(f"watching  {watched or 'no files: no pack here is installed for editing'}")
        printer.note("Ctrl+C ends it. Calls:")
        if browser:
            webbrowser.open(page.url)
        recorder = Recorder(record) if record is not None else None
        _run(partial(_watch, project, settings, host, page, printer), host, page, printer, recorder)


@contextlib.contextmanager
def _serving(project: Project, port: int, printer: Printer) -> Iterator[tuple[str, LiveHost, Path]]:
    """Serve the project; yield the endpoint, the host, and the settings that it serves."""
    with project.written.own_settings() as settings, project.written.installed() as path:
        project.write(settings)
        process = HostProcess(settings, project.folder, port, _told_by(printer), path)
        try:
            yield (*process.wait_ready(), settings)
        finally:
            process.stop()


def _told_by(printer: Printer) -> Callable[[str], None]:
    """Print what the host logs, but for what this command tells itself."""
    return lambda line: None if " the settings were " in line else printer.said(line)


def _run(
    watch: Callable[[threading.Event], None],
    host: LiveHost,
    page: Page,
    printer: Printer,
    recorder: Recorder | None,
) -> None:
    """Follow the host's calls, and by `watch` the project's files, until a signal comes."""
    feed = host.follow(values=True)
    try:
        follow(
            feed,
            page,
            printer,
            hear=() if recorder is None else (recorder.event,),
            beside=watch,
        )
    finally:
        if recorder is not None:
            recorder.close()


def _watch(
    project: Project,
    served: Path,
    host: LiveHost,
    page: Page,
    printer: Printer,
    ended: threading.Event,
) -> None:
    """Have packs replaced whose files were saved, and the settings read again."""
    seen, settings = project.state(), project.settings_state()
    while not ended.wait(LOOK):
        now, settings_now = project.state(), project.settings_state()
        if (now, settings_now) == (seen, settings):
            continue
        while not ended.wait(LOOK / 3) and (later := project.state()) != now:
            now = later  # an editor is still writing
        names, seen = changed(seen, now), now
        try:
            if settings_now != settings:
                settings = settings_now
                project.write(served)
                names = names or list(project.packs)
            done = host.replace(*names)
        except (SettingsError, OSError) as error:
            done = [{"reloaded": False, "error": str(error)}]
        for told in done:
            _tell(told, names, page, printer)


def _tell(told: dict[str, Any], names: list[str], page: Page, printer: Printer) -> None:
    failed = [told["error"]] if not told["reloaded"] else told["failed"]
    for why in failed:
        is_old = not told["reloaded"]
        text = f"{why}. What was saved before goes on." if is_old else str(why)
        printer.note(f"not replaced: {text}" if is_old else f"failed: {text}", RED)
        page.tell({"event": "note", "level": "error", "text": text})
    if not failed:
        text = f"replaced: {', '.join(names)}"
        printer.note(text, GREEN)
        page.tell({"event": "note", "level": "info", "text": text})


def _replay(file: Path, client: Client, ignore: list[str] | tuple[()], printer: Printer) -> int:
    """Make recorded calls again; return the exit code: 1 where an answer differs."""
    differ = 0
    calls = recorded(file)
    for call in calls:
        answers = [dict(answer) for answer in call.answers]
        outcome = client.call(call.kind, call.name, call.arguments)
        while (asked := outcome.get("result", {})).get("resultType") == "input_required":
            given = {
                key: answers.pop(0) if answers else {"action": "cancel"}
                for key in asked["inputRequests"]
            }
            outcome = client.call(
                call.kind, call.name, call.arguments, answers=given, state=asked["requestState"]
            )
        if call.same(outcome, ignore):
            printer.note(f"same     {call}", GREEN)
        else:
            differ += 1
            printer.note(f"differs  {call}: {call.difference(outcome, ignore)}", YELLOW)
    printer.note(f"{len(calls)} calls, {differ} differ", RED if differ else GREEN)
    return 1 if differ else 0
