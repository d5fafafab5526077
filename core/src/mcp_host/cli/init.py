"""`mcp-host init`: a settings file of one's own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import tomli_w
import typer

from ..errors import SettingsError
from ..packs.discovery import discover, summary
from ..settings.loading import Settings, trust_bytes
from ..settings.tables import PackTable
from ..startup.trust import FILE_NAME, is_trusted, write_atomically
from .common import ConfigOption, loaded, quiet_logs, say
from .completion import installed_packs

Names = Annotated[
    list[str] | None,
    typer.Argument(help="Packs to enable.", autocompletion=installed_packs),
]


def init(
    names: Names = None,
    all_packs: Annotated[bool, typer.Option("--all", help="Enable every installed pack.")] = False,
    config: ConfigOption = None,
) -> None:
    """Write a settings file; asks which packs to enable, unless told."""
    path = (config or Path(FILE_NAME)).absolute()
    if path.exists():
        trusted = config is not None or is_trusted(path)
        advice = "enable packs with: mcp-host enable NAME"
        if not trusted:
            advice = f"look at it, then run: mcp-host trust {path}"
        raise SettingsError(f"{path} is there already; {advice}")
    offers = discover()
    if not offers:
        print('No packs are installed yet. For example: pip install "mcp-host[tasky]"')
    for name in names or []:
        if name not in offers:
            known = ", ".join(offers) or "none"
            raise SettingsError(f"no pack '{name}' is installed; installed are: {known}")
    homeless: list[str] = []
    if all_packs:
        wanted = list(offers)
        if path.parent in (Path.home(), Path(path.anchor)):
            homeless = _without_project(wanted)
            wanted = [name for name in wanted if name not in homeless]
    elif names:
        wanted = list(dict.fromkeys(names))
    elif sys.stdin.isatty():
        wanted = _ticked({name: summary(found[0]) for name, found in offers.items()})
    elif offers:
        raise typer.BadParameter(
            f"name the packs to enable, or --all; installed: {', '.join(offers)}"
        )
    else:
        wanted = []
    if not path.parent.is_dir():
        raise SettingsError(f"{path.parent} must be a folder")
    tables = {"packs": {name: {"enabled": True} for name in wanted}} if wanted else {}
    data = tomli_w.dumps(tables).encode()
    write_atomically(path, data, 0o644)
    trust_bytes(path, data)
    for name in homeless:
        print(
            f"{name} works on a project, and this folder is none: enable it in a project's folder, "
            f"or set root in [host] or in [packs.{name}.settings] and run: mcp-host enable {name}",
            file=sys.stderr,
        )
    print(f"Wrote {path} with {', '.join(wanted) or 'no packs'} enabled.")
    print("Next: `mcp-host connect` tells the clients on this machine of it, and tries them;")
    print("      `mcp-host doctor` looks whether all is well.")


def _ticked(summaries: dict[str, str]) -> list[str]:
    """The packs that a person ticks in a list of all."""
    names = list(summaries)
    for number, name in enumerate(names, 1):
        say(f"  {number}  {name}: {summaries[name]}")
    while True:
        text: str = typer.prompt(
            "Which shall be enabled? Numbers or names; Enter: all, 0: none",
            default="",
            show_default=False,
            err=True,
        )
        words = text.replace(",", " ").split()
        if not words:
            return names
        found = [names[int(w) - 1] if _is_number(w, names) else w for w in words if w != "0"]
        unknown = [word for word in found if word not in names]
        if not unknown:
            return list(dict.fromkeys(found))
        print(f"{unknown[0]!r} must be a number from 0 to {len(names)} or a name", file=sys.stderr)


def _is_number(word: str, names: list[str]) -> bool:
    return word.isdecimal() and 1 <= int(word) <= len(names)


def _without_project(names: list[str]) -> list[str]:
    """Those packs that cannot open in this folder, since they are about a project.

    They are imported for it, each within its time, and none is opened.
    """
    settings = Settings(packs={name: PackTable(enabled=True) for name in names})
    quiet_logs(settings, "critical")
    reports = loaded(settings).report()
    return [report["name"] for report in reports if report.get("code") == "no_project"]
