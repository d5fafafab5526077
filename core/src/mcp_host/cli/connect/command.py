"""`mcp-host connect`: tell the clients here of the host, and start it as they would."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ...clients.changes import apply, entry_in, is_under_git
from ...clients.client import SERVER_NAME, Client, Launch, Remote, files_of, this_host
from ...clients.known import CLIENTS, find
from ...errors import SettingsError
from ..brought import learn
from ..common import ConfigOption, JsonOption, Output, chosen_file, say
from ..completion import beginning
from ..install.readiness import needed_variables, project_root
from .printed import printed
from .rehearsal import Rehearsal, rehearse
from .sharing import project_launch
from .standing import Standing, found_clients, standings

Format = Literal["json", "toml", "yaml", "link"]
WRITTEN = ("not connected", "drifted")


def connect(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Clients, as `mcp-host clients` names them; those that are found.",
            show_default=False,
            autocompletion=lambda incomplete: beginning(incomplete, lambda: CLIENTS),
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Connect all clients that are found, without asking.")
    ] = False,
    url: Annotated[
        str | None,
        typer.Option(help="Name a host that listens there, instead of starting one."),
    ] = None,
    token_env: Annotated[
        str, typer.Option(metavar="VARIABLE", help="The variable that holds the token for --url.")
    ] = "",
    project: Annotated[
        Path | None,
        typer.Option(
            help="Write the clients' files in this project, without a path of this machine.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            "--from", metavar="PACKAGE", help="Start by `uvx --from PACKAGE`, for --project."
        ),
    ] = "",
    form: Annotated[
        Format | None, typer.Option("--print", help="Print the entry, and write nothing.")
    ] = None,
    name: Annotated[str, typer.Option("--name", help="The server's name in the clients.")] = (
        SERVER_NAME
    ),
    root: Annotated[
        Path | None,
        typer.Option(help="The project's folder, for packs about a project.", show_default=False),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write also over another server of that name.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Start the host as each client would.")
    ] = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the changes and write nothing.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Connect the clients on this machine, and see that each can really start the host."""
    output = Output()
    wanted = [find(name) for name in names or []] or found_clients(project)
    start = _start(config, url, token_env, project, source, root)
    settings_file = None if url or (project and source) else chosen_file(config).absolute()
    if form is not None:
        chosen = find(names[0]) if names else None
        output.raw(printed(form, chosen, start, name))
        return
    found = [
        standing
        for client in wanted
        for standing in _standings(client, start, settings_file, name, project, force)
    ]
    if not as_json:
        _show(output, found)
    if not found:
        raise SettingsError(
            "no client is found on this machine: name one, as `mcp-host clients` does"
        )
    writes = [standing for standing in found if standing.state in WRITTEN and standing.change]
    if dry_run:
        diffs = {each.path: each.change.diff for each in writes if each.change}
        if as_json:
            told = [_reported(each, {}, {}) for each in found]
            output.json([{**each, "diff": diffs.get(Path(each["file"]), "")} for each in told])
            return
        for diff in diffs.values():
            output.text(diff.removesuffix("\n"))
        return
    if writes and not (names or every):
        _ask(writes)
    copies = {standing.path: _write(standing, project) for standing in writes}
    settled = [_settled(standing) if standing in writes else standing for standing in found]
    if check and settings_file is not None:
        learn(settings_file)
    started = _checked(output, settled, name, project, as_json) if check else {}
    if as_json:
        output.json([_reported(each, copies, started) for each in settled])
    elif not check and writes:
        output.text("Written, and not started.")
    bad = [each for each in settled if each.state not in ("connected", "switched off")]
    failed = any(rehearsal.failure for rehearsal in started.values())
    if failed or (bad and names) or not any(each.state == "connected" for each in settled):
        raise typer.Exit(1)


def clients(
    config: ConfigOption = None,
    name: Annotated[str, typer.Option("--name", help="The server's name in the clients.")] = (
        SERVER_NAME
    ),
    as_json: JsonOption = False,
) -> None:
    """List the clients that can be connected: which are here, and how they stand to this host."""
    output = Output()
    try:
        settings_file = chosen_file(config).absolute()
        start: Launch | None = this_host(settings_file, project_root(settings_file))
    except SettingsError:
        start = settings_file = None
    there = {client.name for client in found_clients()}
    rows: list[dict[str, str]] = []
    for client in CLIENTS.values():
        if client.name not in there:
            rows.append(_row(client, "not installed", "", ""))
            continue
        for each in _standings(client, start, settings_file, name, None, False):
            rows.append(_row(client, each.state, str(each.path), each.why))
    if as_json:
        output.json(rows)
        return
    columns = ("CLIENT", "", "STATE", "FILE")
    output.table(
        columns, [(row["client"], row["title"], row["state"], row["file"]) for row in rows], ""
    )
    for row in rows:
        if row["why"] and row["state"] not in ("connected", "not connected"):
            output.text(f"{row['title']}: {row['why']}")
    output.text("`mcp-host connect` connects those that are here.")


def _row(client: Client, state: str, file: str, why: str) -> dict[str, str]:
    return {
        "client": client.name,
        "title": client.title,
        "state": state,
        "file": file,
        "why": why,
        "source": client.source,
    }


def _start(
    config: Path | None,
    url: str | None,
    token: str,
    project: Path | None,
    source: str,
    root: Path | None,
) -> Launch | Remote:
    """How the clients will start or reach the host."""
    if url is not None:
        if not url.startswith(("http://", "https://")):
            raise typer.BadParameter("--url must begin with http:// or https://")
        return Remote(url, token)
    if token:
        raise typer.BadParameter("--token-env goes with --url")
    if project is not None or source:
        return project_launch(source)
    settings_file = chosen_file(config).absolute()
    return this_host(settings_file, root or project_root(settings_file))


def _standings(
    client: Client,
    start: Launch | Remote | None,
    settings_file: Path | None,
    name: str,
    project: Path | None,
    force: bool,
) -> list[Standing]:
    """How a client stands; one that could not start the host is told with the reason."""
    try:
        if isinstance(start, Launch) and settings_file is not None and not client.by_bundle:
            for path in files_of(client, project):
                variables = needed_variables(settings_file, client, _old(client, path, name))
                start = replace(start, variables=variables)
        return standings([client], start, name, project, force=force)
    except SettingsError as error:
        return [
            Standing(client, path, "cannot start", str(error)) for path in files_of(client, project)
        ]


def _old(client: Client, path: Path, name: str) -> dict[str, Any] | None:
    try:
        return entry_in(client, path, name)
    except SettingsError:  # told with the client's state
        return None


def _show(output: Output, found: list[Standing]) -> None:
    output.table(
        ("CLIENT", "STATE", "FILE"),
        [(each.client.title, each.state, str(each.path)) for each in found],
        "No client is found on this machine.",
    )
    for each in found:
        if each.why and each.state != "connected":
            output.text(f"{each.client.title}: {each.why}")


def _ask(writes: list[Standing]) -> None:
    """Ask once whether these files may change; nobody at the terminal is a refusal."""
    titles = ", ".join(dict.fromkeys(each.client.title for each in writes))
    if not sys.stdin.isatty():
        raise typer.BadParameter(
            f"nobody can be asked here: name the clients, or add --all ({titles})"
        )
    say("A file that changes is kept beside it as FILE.bak.")
    typer.confirm(f"Connect {titles}?", default=True, abort=True, err=True)


def _write(standing: Standing, project: Path | None) -> Path | None:
    assert standing.change is not None
    return apply(standing.change, copy=project is None or not is_under_git(standing.path))


def _settled(standing: Standing) -> Standing:
    """How a client stands once its file is written: an entry that its owner switched off is so."""
    off = standing.change.off if standing.change else ""
    return replace(standing, state="switched off" if off else "connected", why=off)


def _checked(
    output: Output, found: list[Standing], name: str, project: Path | None, as_json: bool
) -> dict[Path, Rehearsal]:
    """Start the host as each connected client would, one after the other."""
    done: dict[Path, Rehearsal] = {}
    for each in found:
        if each.state == "switched off" and not as_json:
            output.text(f"- {each.client.title}: not started, since its entry says {each.why}")
        if each.state != "connected" or each.client.by_bundle:
            continue
        done[each.path] = result = rehearse(each.client, each.path, name, project)
        if not as_json:
            sign = "✗" if result.failure else "✓"
            output.text(f"{sign} {each.client.title}: {result}")
            if not result.failure:
                output.text(f"  {each.client.after}")
    return done


def _reported(
    each: Standing, copies: dict[Path, Path | None], started: dict[Path, Rehearsal]
) -> dict[str, Any]:
    rehearsal = started.get(each.path)
    copy = copies.get(each.path)
    return {
        "client": each.client.name,
        "file": str(each.path),
        "state": each.state,
        "why": each.why,
        "written": each.path in copies,
        "copy": str(copy) if copy else None,
        "start": vars(rehearsal) if rehearsal is not None else None,
    }
