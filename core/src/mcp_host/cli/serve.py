"""`mcp-host serve`: read without typer, which would cost each conversation a tenth of a second."""

from __future__ import annotations

import sys

from ..startup.options import (
    add_options,
    identity,
    quickly,
)
from ..startup.printable import shown
from ..startup.trust import NO_PACKS, ChosenFile, again, choose, is_safe_mode
from ..startup.version import VERSION
from ..startup.warm.attempt import attempt
from ..startup.worker import told

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    from ..serving.serving import Serving
    from ..settings.loading import Settings
    from ..startup.options import Given
    from ..startup.worker import WorkerShare

SERVER = f"{__name__}:serving"
"""Where the warm host finds what this command serves."""


def main(arguments: Sequence[str]) -> NoReturn:
    """Read a command line, and serve."""
    serve(quickly(arguments, "stdio") or parser().parse_args(arguments))


def serve(given: Given) -> NoReturn:
    """Serve the packs that the settings file enables."""
    choice = choose(given.config)
    for line in _notices(choice):
        print(shown(line), file=sys.stderr)
    worker = told()
    if given.workers is not None and worker is None:
        _by_workers(given, choice)
    if worker is not None:
        from ..serving.life import end_with

        end_with(worker.life)
    whose = None if is_safe_mode() else identity("mcp-host", choice.file, given)
    tried = attempt(SERVER, given, whose, choice.file, choice.digest)
    # A front, which the process has become where this is not reached, does without it.
    from ..serving import start

    what, settings = serving(given, choice.file, choice.digest, worker)
    start.serve(what.__replace__(identity=whose, **vars(tried)), settings)


def _by_workers(given: Given, choice: ChosenFile) -> NoReturn:
    """Have processes of their own serve; this one starts them, and ends them."""
    from ..errors import SettingsError
    from .workers import serve_by_workers

    if given.transport != "http" or sys.platform == "win32":
        print("error: --workers needs --transport http, and not Windows", file=sys.stderr)
        sys.exit(2)
    try:
        settings = read_settings(choice, is_safe_mode(), given)
        sys.exit(serve_by_workers(given.workers or 1, sys.argv[2:], settings))
    except SettingsError as error:
        print(shown(f"error: {error}"), file=sys.stderr)
        sys.exit(1)


def serving(
    given: Given, source: str | None, digest: str | None, worker: WorkerShare | None = None
) -> tuple[Serving, Callable[[], Settings]]:
    """What is served, and what reads its settings from the file that was chosen."""
    from ..serving.serving import Serving

    choice, no_packs = ChosenFile(source, digest=digest), is_safe_mode()
    what = Serving(
        name="mcp-host",
        version=lambda: VERSION,
        transport=given.transport,
        read_again=lambda: read_settings(_again(choice), no_packs, given, worker),
        watches=given.watch,
    )
    return what, lambda: read_settings(choice, no_packs, given, worker)


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="mcp-host serve", description="Serve the enabled packs to MCP clients."
    )
    add_options(parser, "stdio", watches=True)
    return parser


def read_settings(
    choice: ChosenFile, no_packs: bool, given: Given, worker: WorkerShare | None = None
) -> Settings:
    """The chosen settings, empty ones where there is no file, and what the command line says."""
    # After a client may have had its first answers.
    from ..settings.loading import Settings, load
    from ..settings.overrides import overridden

    path = choice.path
    settings = load(path, digest=choice.digest) if path is not None else Settings()
    return overridden(settings.replace(packs={}) if no_packs else settings, given, worker)


def _again(choice: ChosenFile) -> ChosenFile:
    """The same file, looked at once more; `SettingsError` where it must not be read."""
    from ..errors import SettingsError

    found = again(choice)
    if found.file is None:
        raise SettingsError(found.notice or "this host was started without a settings file")
    return found


def _notices(choice: ChosenFile) -> list[str]:
    notices = [choice.notice] if choice.notice else []
    if choice.file is None and not choice.notice:
        notices.append("no settings file: no packs are served. Make one with: mcp-host init")
    if is_safe_mode():
        notices.append(f"{NO_PACKS}=1: no packs are served")
    return notices
