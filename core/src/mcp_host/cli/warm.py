"""`mcp-host warm`: the processes that serve all stdio sessions, and how they are."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import typer

from ..errors import SettingsError
from ..settings.loading import Settings
from .commands import Command
from .common import JsonOption, Output

NONE = "no warm host is running"
LAST_LINES = 200

warm_app = typer.Typer(help="Look at the warm hosts, and end them.", no_args_is_help=True)


@warm_app.command("status", cls=Command)
def status(as_json: JsonOption = False) -> None:
    """List the warm hosts, what they have open, and why a session was last served alone."""
    output = Output()
    found, alone = _asked("status"), last_alone()
    if as_json:
        output.json({"hosts": found, "alone": alone})
        return
    for host in found:
        _show(output, host)
    if not found:
        output.text(NONE)
    if alone:
        output.text(f"last served alone: {alone}")


@warm_app.command("stop", cls=Command)
def stop() -> None:
    """Have every warm host take no more sessions; it ends with the last one that it has."""
    _tell(_asked("stop"), "takes no more sessions")


@warm_app.command("restart", cls=Command)
def restart() -> None:
    """End every warm host once its calls have ended; other hosts go on with its sessions."""
    _tell(_asked("restart"), "ends; others go on with its sessions")


@warm_app.command("logs", cls=Command)
def logs() -> None:
    """Show what the warm hosts have logged last, beside what went to their sessions."""
    place = _place()
    names = [name for name in place.names() if name.endswith(".log")]
    for name in names:
        with os.fdopen(place.open(name, os.O_RDONLY), encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()[-LAST_LINES:]
        if lines:
            print(f"== {place.path}/{name}")
            print("\n".join(lines))
    place.close()


def last_alone() -> str:
    """Return why a session was last served alone although it was to be warm; empty for none."""
    from ..startup.warm.attempt import REFUSAL

    place = _place()
    try:
        with os.fdopen(place.open(REFUSAL, os.O_RDONLY), encoding="utf-8") as file:
            when = time.strftime(
                "%Y-%m-%d %H:%M:%S", time.localtime(os.fstat(file.fileno()).st_mtime)
            )
            return f"{file.read()} ({when})"
    except OSError:
        return ""
    finally:
        place.close()


def warm_line(settings: Settings) -> str:
    """Return how the warm host of `serve` is, in one line, for `mcp-host doctor`."""
    if sys.platform != "linux":
        return "there is none on this system; each session is served alone"
    wanted = os.environ.get("MCP_HOST_WARM") or ("1" if settings.host.warm else "0")
    if wanted != "1":
        return "switched off; each session is served alone"
    found, alone = _asked("status"), last_alone()
    count = sum(len(host.get("sessions", ())) for host in found)
    running = f"{len(found)} running, with {count} sessions" if found else NONE
    return f"{running}; last served alone: {alone}" if alone else running


def memory_of(process: int) -> int | None:
    """Return a process's share of memory in bytes; None where that cannot be told."""
    try:
        with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:  # noqa: PTH123
            return next(1024 * int(line.split()[1]) for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration, ValueError):
        return None


def _place() -> Any:
    if sys.platform != "linux":
        raise SettingsError("there are warm hosts on Linux alone")
    from ..startup.warm.place import Place, PlaceError

    try:
        return Place.opened()
    except PlaceError as error:
        raise SettingsError(str(error)) from None


def _asked(question: str) -> list[dict[str, Any]]:
    """Ask every host, and return what each has told."""
    place = _place()
    from ..startup.warm.hosts import asked, running
    from ..startup.warm.place import PlaceError

    found = []
    for name in running(place):
        try:
            told = asked(place, name, question)
        except PlaceError as error:
            told = {"name": name, "problem": str(error)}
        if told is not None:
            found.append(
                {**told, "memory": memory_of(told["process"]) if "process" in told else None}
            )
    place.close()
    return found


def _show(output: Output, host: dict[str, Any]) -> None:
    if "problem" in host:
        output.text(f"{host['name']}: {host['problem']}")
        return
    age = int(time.time() - host["began"])
    memory = f", {host['memory'] / 2**20:.0f} MiB" if host["memory"] is not None else ""
    count = len(host["sessions"])
    output.text(
        f"{host['name']}: process {host['process']}, mcp-host {host['version']}, {age} s old, "
        f"{count} session{'' if count == 1 else 's'}{memory}"
    )
    for each in host["hosts"]:
        packs = ", ".join(f"{name} {state}" for name, state in each["packs"].items())
        output.text(
            f"  {each['program']} in {each['root']} by {each['settings'] or 'no settings file'}: "
            f"{each['sessions']} open; {packs}"
        )


def _tell(found: list[dict[str, Any]], what: str) -> None:
    for host in found:
        print(host.get("problem") or f"{host['name']}: process {host['process']} {what}")
    if not found:
        print(NONE)
