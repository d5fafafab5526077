"""`mcp-host reload`: has running hosts read their settings again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import SettingsError
from ..serving.reload.control import ask
from ..serving.reload.reloading import in_words
from ..startup.trust import named_file
from .common import JsonOption, Output

NONE = "no host is running that can be reloaded"


def reload(
    config: Annotated[
        Path | None, typer.Option("--config", help="Only hosts that serve this settings file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Have the running hosts of this user read their settings files again.

    Only packs that changed are opened, closed or changed. Ends with 1 where a host changed nothing
    because its file cannot be used, and where there is no such host.
    """
    if sys.platform == "win32":
        raise SettingsError("on this system, use `mcp-host serve --watch`")
    output, wanted = Output(), None if config is None else named_file(config)
    found = [told for told in ask("reload", wanted) if told.get("hosts") or "problem" in told]
    if as_json:
        output.json({"processes": found})
    for told in found if not as_json else ():
        for line in _lines(told):
            output.text(line)
    if not found and not as_json:
        output.text(NONE)
    hosts = [host for told in found for host in told.get("hosts", ())]
    are_good = all(host["reloaded"] for host in hosts)
    raise typer.Exit(0 if found and are_good and not any("problem" in t for t in found) else 1)


def running_lines(settings: Path | None, digest: str) -> list[str]:
    """Return how the running hosts of a settings file are, for `mcp-host doctor`."""
    lines = []
    for told in ask("status", None if settings is None else str(settings)):
        who = f"process {told['process']}"
        if "problem" in told:
            lines.append(f"{who}: {told['problem']}")
        for host in told.get("hosts", ()):
            if settings is None or host["settings"] != str(settings):
                continue
            says = "serves what the file says"
            if host["digest"] != digest:
                says = "serves what the file said before it changed; run: mcp-host reload"
            elif host["after_restart"]:
                says = f"needs a restart for {', '.join(host['after_restart'])}"
            if host["error"]:
                says += f"; the last reload changed nothing: {host['error']}"
            lines.append(f"{who} {says}")
    return lines


def _lines(told: dict[str, Any]) -> list[str]:
    who = f"process {told['process']}"
    if "problem" in told:
        return [f"{who}: {told['problem']}"]
    lines = []
    for host in told["hosts"]:
        where = f"{who}, {host['settings']}"
        if not host["reloaded"]:
            lines.append(f"{where}: nothing has changed: {host['error']}")
            continue
        lines.append(f"{where}: {in_words(host)}")
    return lines
