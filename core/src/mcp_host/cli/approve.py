"""`mcp-host approve`: show what has changed in a locked pack, and agree to it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..packs.difference import Difference, differences
from ..settings.loading import Settings
from ..settings.locked import LockedPack
from .common import ConfigOption, JsonOption, Output, chosen_settings, quiet_logs, say
from .completion import installed_packs
from .learning import learned, write
from .reload import running_lines


def approve(
    pack: Annotated[str, typer.Argument(help="The pack.", autocompletion=installed_packs)],
    yes: Annotated[
        bool,
        typer.Option("--yes", help="Agree without being asked; it is shown all the same."),
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a pack lists that is not as it was locked, and agree to it.

    A pack without a lock gets one. Ends with 1 where nobody has agreed.
    """
    output = Output()
    settings = chosen_settings(config)
    quiet_logs(settings, "critical")
    now = learned(settings, [pack])[pack]
    before = settings.locked.get(pack)
    found = differences(before, now)
    moved = _moved(before, now)
    if not as_json:
        _show(output, pack, before, found, moved)
    is_new = before is None or bool(found or moved)
    agreed = not is_new or yes or (not as_json and _agrees(pack))
    if agreed and before != now:
        write(settings, {**settings.locked, pack: now})
    if as_json:
        changes = [one.as_data() for one in found]
        output.json({"pack": pack, "approved": agreed, "moved": moved, "changes": changes})
    elif agreed and is_new:
        output.text(f"{pack} is locked as it is now.")
        _tell_of_running(settings)
    raise typer.Exit(0 if agreed else 1)


def _moved(before: LockedPack | None, now: LockedPack) -> str:
    """Say that a pack comes from elsewhere; empty where it does not."""
    if before is None or before.distribution == now.distribution:
        return ""
    return f"it came from {before.distribution}, and comes from {now.distribution}"


def _show(
    output: Output, name: str, before: LockedPack | None, found: list[Difference], moved: str
) -> None:
    if moved:
        output.text(f"{name}: {moved}")
    elif before is not None and not found:
        output.text(f"{name} is as it was locked.")
    elif before is None:
        output.text(f"{name} has no lock yet. It lists:")
    for difference in found:
        output.text("\n".join(("", *difference.lines())))


def _agrees(name: str) -> bool:
    """Ask the person at the terminal; nobody has agreed where there is none."""
    if not sys.stdin.isatty():
        say(f"nobody has agreed: mcp-host approve {name} --yes")
        return False
    return typer.confirm(f"Serve {name} with all this?", default=False, err=True)


def _tell_of_running(settings: Settings) -> None:
    """Say how hosts that run now get to know."""
    if sys.platform != "win32" and running_lines(settings.source, settings.digest):
        say("Hosts that run now heed it after: mcp-host reload")
