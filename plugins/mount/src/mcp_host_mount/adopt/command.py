"""`mcp-host adopt`: put the servers that a client knows behind the host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from mcp_host import (
    ClientFile,
    ClientServer,
    SettingsError,
    SettingsFile,
    apply_change,
    client_file,
    client_files,
    plan_replacement,
)

from ..texts import shown
from . import originals
from .translate import Adopted, Translation, pack_name


def adopt(
    source: Annotated[
        str | None,
        typer.Argument(help="A client, or a file of one; every client unless told."),
    ] = None,
    names: Annotated[list[str] | None, typer.Argument(help="The servers to adopt.")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Adopt every server that is switched on there.")
    ] = False,
    project: Annotated[
        Path | None, typer.Option(help="Look at the clients' files in this project's folder.")
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Leave the client with the one entry of this host."),
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Give the client's file back what --replace took.")
    ] = False,
    no_lock: Annotated[
        bool, typer.Option("--no-lock", help="Do not start the servers, and do not lock them.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be written, and write nothing.")
    ] = False,
    config: Annotated[Path | None, typer.Option("--config", help="The settings file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Adopt the servers that a client knows: each becomes a pack of this host.

    Without names and --all it shows what there is, and at a terminal has you choose. Secrets go
    into files that only you can read. The adopted servers are started once, and locked.
    """
    files = _files(source, project)
    if undo:
        _undo(source, files)
        return
    settings = SettingsFile.chosen(config)
    found = _translated(files, settings, project)
    if not as_json:
        _show(files, found)
    chosen = _chosen(found, names or [], every, project, may_ask=not as_json)
    new = [one for one in chosen if not one.problem and one.pack not in settings.packs]
    if new and not dry_run:
        settings.add_packs({one.pack: _kept(one, settings) for one in new})
    said = {} if no_lock or dry_run else _locked(new, settings.path)
    changed = _replaced(files, chosen, settings.path, dry_run) if replace else []
    if as_json:
        typer.echo(json.dumps(_data(found, new, said, changed, settings.path), indent=2))
    else:
        _tell(new, chosen, said, changed, settings.path, dry_run)
    failed = [one for one in chosen if one.problem]
    raise typer.Exit(1 if failed or said else 0)


def _files(source: str | None, project: Path | None) -> list[ClientFile]:
    """The files that are meant; `SettingsError` where there is none, or one cannot be read."""
    if source is None:
        return [file for file in _all_files(project) if file.servers or file.problem]
    if Path(source).is_file() or os.sep in source or source.endswith((".json", ".toml", ".yaml")):
        return [client_file(Path(source))]
    found = _all_files(project, [source])
    if not found:
        raise SettingsError(f"{source} has no file here; name one: mcp-host adopt FILE")
    for file in found:
        if file.problem:
            raise SettingsError(f"{file.path}: {file.problem}")
    return found


def _all_files(project: Path | None, names: Sequence[str] = ()) -> list[ClientFile]:
    """The clients' own files, or those of a project with what the own files have for it."""
    files = client_files(project, names)
    if project is None:
        return files
    for file in client_files(None, names):
        folder = project.absolute()
        own = [one for one in file.servers if one.project and Path(one.project) == folder]
        if own:
            files.append(replace(file, servers=tuple(own)))
    return files


def _translated(
    files: Sequence[ClientFile], settings: SettingsFile, project: Path | None
) -> list[Adopted]:
    """Every server under the name of a pack; one that several clients have, once.

    Nothing is written for it.
    """
    there, made, seen = settings.packs, list[Adopted](), list[tuple[Any, ...]]()
    for file in files:
        folder = project or _project_of(file) or settings.path.parent
        for server in file.servers:
            its_folder = Path(server.project or folder).absolute()
            translation = Translation(its_folder, os.environ, settings.secret_file)
            if (same := _same(server)) in seen:
                continue
            seen.append(same)
            made.append(_named(translation, server, {one.pack for one in made}, there))
    return made


def _kept(one: Adopted, settings: SettingsFile) -> dict[str, Any]:
    """The table of a server, with its secrets in files."""
    translation = Translation(one.project, os.environ, settings.keep_secret)
    return translation.adopted(one.pack, one.server).table


def _named(
    translation: Translation,
    server: ClientServer,
    taken: set[str],
    there: Mapping[str, Mapping[str, Any]],
) -> Adopted:
    """A server under a name that is free, or that the same server has already."""
    wanted, number = pack_name(server.name), 1
    while True:
        pack = wanted if number == 1 else f"{wanted[:29]}_{number}"
        number += 1
        if pack in taken:
            continue
        one = translation.adopted(pack, server)
        if pack not in there:
            return one
        known = {key: value for key, value in there[pack].items() if key in one.table}
        if known == one.table or one.problem:
            return one


def _same(server: ClientServer) -> tuple[Any, ...]:
    return (
        *(server.command, server.arguments, server.url, server.folder),
        *(tuple(server.environment.items()), tuple(server.headers.items())),
    )


def _project_of(file: ClientFile) -> Path | None:
    """The project that a file of a client belongs to; None where it is the user's own."""
    if any(file.path == one.path for one in client_files(names=[file.client])):
        return None
    folder = file.path.parent
    return folder.parent if folder.name.startswith(".") else folder


def _chosen(
    found: list[Adopted],
    names: Sequence[str],
    every: bool,
    project: Path | None,
    *,
    may_ask: bool,
) -> list[Adopted]:
    nearest_last = sorted(found, key=lambda one: _is_here(one, project))
    by_name = {key: one for one in nearest_last for key in (one.server.name, one.pack)}
    if names:
        for name in names:
            if name not in by_name:
                known = ", ".join(one.server.name for one in found) or "none"
                raise SettingsError(f"no server '{name}' is there; there are: {known}")
        return list({id(by_name[name]): by_name[name] for name in names}.values())
    good = [
        one for one in found if not one.problem and one.server.enabled and _is_here(one, project)
    ]
    if every:
        return good
    if not (may_ask and good and sys.stdin.isatty()):
        return []
    return _ticked(good)


def _is_here(one: Adopted, folder: Path | None) -> bool:
    """Whether a server belongs to the user, or to the project that the command works in."""
    if not one.server.project:
        return True
    here = (folder or Path.cwd()).absolute()
    return Path(one.server.project).absolute() in (here, *here.parents)


def _ticked(good: list[Adopted]) -> list[Adopted]:
    """The servers that a person ticks in a list of those that can be adopted."""
    for number, one in enumerate(good, 1):
        _say(f"  {number}  {one.server.name}")
    while True:
        text: str = typer.prompt(
            "Which shall be adopted? Numbers; Enter: all, 0: none",
            default="",
            show_default=False,
            err=True,
        )
        words = text.replace(",", " ").split()
        if not words:
            return good
        if all(word.isdecimal() and int(word) <= len(good) for word in words):
            return [good[int(word) - 1] for word in dict.fromkeys(words) if int(word)]
        _say(f"each must be a number from 0 to {len(good)}")


def _locked(new: Sequence[Adopted], settings: Path) -> dict[str, str]:
    """Lock each pack, which starts its server and learns what it lists; return what went wrong."""
    wrong = {}
    for number, one in enumerate(new):
        _say(f"Starting {one.server.name} once, to lock what it lists.")
        command = [sys.executable, "-P", "-m", "mcp_host", "lock", one.pack]
        try:
            done = subprocess.run(
                [*command, "--config", str(settings)], capture_output=True, text=True, check=False
            )
        except KeyboardInterrupt:
            names = " ".join(each.pack for each in new[number:])
            _say(f"Not locked, and enabled: {names}. To lock what they list now:")
            _say(f"  mcp-host lock {names} --config {settings}")
            raise
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()
            wrong[one.pack] = lines[-1].removeprefix("error: ") if lines else "it did not end well"
    return wrong


def _replaced(
    files: Sequence[ClientFile], chosen: Sequence[Adopted], settings: Path, dry_run: bool
) -> list[str]:
    """Have the clients start this host in place of what it has adopted; the files changed."""
    good = {_same(one.server) for one in chosen if not one.problem}
    changed = []
    for file in files:
        gone = [server for server in file.servers if _same(server) in good]
        if gone:
            names = [server.name for server in gone if not server.project]
            of_projects = [(server.project, server.name) for server in gone if server.project]
            change = plan_replacement(file, names, settings, of_projects)
            if change.is_needed and not dry_run:
                originals.keep(change)
                apply_change(change)
            if change.is_needed:
                changed.append(str(change.path))
    return changed


def _undo(source: str | None, files: Sequence[ClientFile]) -> None:
    kept = originals.kept()
    paths = [file.path for file in files if file.path in kept] if source else kept
    if not paths:
        raise SettingsError("`mcp-host adopt --replace` has changed no such file")
    for path in paths:
        originals.undo(path)
        typer.echo(f"{path} is as it was.")


def _show(files: Sequence[ClientFile], found: Sequence[Adopted]) -> None:
    """Show what was found, without secrets."""
    for file in files:
        typer.echo(f"{file.title}: {shown(str(file.path))}")
        if file.problem:
            typer.echo(f"  cannot be read: {shown(file.problem)}")
        for one in found:
            if one.server.file != file.path:
                continue
            off = "" if one.server.enabled else " (switched off there)"
            of = f" (of the project {shown(one.server.project)})" if one.server.project else ""
            typer.echo(f"  {shown(one.server.name)}{of}{off}: {shown(one.what)}")
            if one.problem:
                typer.echo(f"    cannot be adopted: {shown(one.problem)}")
            for note in one.notes:
                typer.echo(f"    {shown(note)}")
    if not found:
        typer.echo("No client here knows a server.")


def _tell(
    new: Sequence[Adopted],
    chosen: Sequence[Adopted],
    wrong: Mapping[str, str],
    changed: Sequence[str],
    settings: Path,
    dry_run: bool,
) -> None:
    for one in new:
        verb = "would be" if dry_run else "is"
        typer.echo(f"{shown(one.server.name)} {verb} [packs.{one.pack}] in {settings}.")
        if one.pack in wrong:
            typer.echo(f"  not locked: {shown(wrong[one.pack])}")
            typer.echo(f"  once that is mended: mcp-host lock {one.pack} --config {settings}")
    for one in chosen:
        if one not in new and not one.problem:
            typer.echo(f"{shown(one.server.name)} is [packs.{one.pack}] already.")
    for path in changed:
        verb = "would start" if dry_run else "starts"
        typer.echo(
            f"{path} {verb} this host in their place; mcp-host adopt --undo takes that back."
        )
    if not chosen:
        typer.echo("Adopt with: mcp-host adopt CLIENT NAME…, or --all")


def _data(
    found: Sequence[Adopted],
    new: Sequence[Adopted],
    wrong: Mapping[str, str],
    changed: Sequence[str],
    settings: Path,
) -> dict[str, Any]:
    return {
        "settings": str(settings),
        "found": [
            {
                "client": one.server.client,
                "file": str(one.server.file),
                "name": one.server.name,
                "pack": one.pack,
                "enabled": one.server.enabled,
                "project": one.server.project,
                "what": one.what,
                "notes": one.notes,
                "problem": one.problem,
            }
            for one in found
        ],
        "adopted": [one.pack for one in new],
        "not_locked": dict(wrong),
        "replaced": list(changed),
    }


def _say(text: str) -> None:
    typer.echo(shown(text), err=True)
