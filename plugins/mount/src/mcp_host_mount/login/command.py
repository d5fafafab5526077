"""`mcp-host login` and `logout`: a person logs in at a server that has an address."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from mcp_host import SettingsError, SettingsFile

from ..settings import MountSettings, check
from ..texts import shown
from .store import LoginStore

THINKING = 300.0
"""Seconds that a person has for a login."""
Name = Annotated[str, typer.Argument(help="The pack that is mounted by its address.")]
Config = Annotated[Path | None, typer.Option("--config", help="The settings file.")]


def login(
    name: Name,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address to open.")
    ] = False,
    config: Config = None,
) -> None:
    """Log in at a mounted server that wants it, in a browser.

    The tokens are kept where only you can read them, and renewed as long as the server lets them
    be. They go to that server alone.
    """
    settings = SettingsFile.chosen(config)
    mount, store = _mounted(settings, name)
    if any(header.lower() == "authorization" for header in mount.headers):
        raise SettingsError(f"packs.{name}.headers has an Authorization, which is shown instead")
    from .flow import LoginError, log_in  # the SDK's import takes half a second

    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # what goes wrong is said below

    async def show(address: str) -> None:
        typer.echo(f"Log in at: {shown(address)}", err=True)
        if not no_browser:
            await asyncio.to_thread(webbrowser.open, address)

    headers = {key: str(value) for key, value in mount.headers.items()}
    try:
        kept = asyncio.run(log_in(store, mount.oauth, headers, show, THINKING))
    except LoginError as error:
        raise SettingsError(f"{name}: {shown(str(error))}") from None
    if kept is None:
        typer.echo(f"{name} wants no login.")
        return
    typer.echo(f"{name} is logged in.")
    said = _learned(name, settings.path)
    if said:
        typer.echo(f"  but not ready: {shown(said)}")
    else:
        typer.echo("A host that runs takes it up by itself, at once after: mcp-host reload")


def logout(name: Name, config: Config = None) -> None:
    """Forget the login at a mounted server."""
    _, store = _mounted(SettingsFile.chosen(config), name)
    words = "is logged out" if store.forget() else "was not logged in"
    typer.echo(f"{name} {words}.")


def _mounted(settings: SettingsFile, name: str) -> tuple[MountSettings, LoginStore]:
    """Return what the settings say of a mount by its address, and where its login is kept."""
    packs = settings.packs
    if name not in packs:
        known = ", ".join(sorted(pack for pack, table in packs.items() if "url" in table)) or "none"
        raise SettingsError(f"no pack '{name}' is in {settings.path}; with an address: {known}")
    table = packs[name]
    if "url" not in table:
        raise SettingsError(f"packs.{name} has no url; a login is for servers that have an address")
    given = {
        key: _read(value, settings.path.parent, f"packs.{name}.{key}")
        for key, value in table.items()
        if key in ("url", "headers", "oauth")
    }
    mount = check(name, "url", given)
    return mount, LoginStore(name, str(mount.url), in_keyring=mount.oauth.keyring)


def _read(value: Any, folder: Path, where: str) -> Any:
    """Return a value of the settings with what stands in variables and files in it."""
    if not isinstance(value, Mapping):
        return value
    if "env" in value and set(value) <= {"env", "default"}:
        found = os.environ.get(str(value["env"]), value.get("default"))
        if found is None:
            raise SettingsError(f"{where}: the environment variable {value['env']} is not set")
        return found
    if set(value) == {"file"}:
        try:
            return (folder / Path(str(value["file"])).expanduser()).read_text("utf-8").strip()
        except OSError as error:
            raise SettingsError(f"{where}: cannot read {value['file']}: {error.strerror}") from None
    return {key: _read(item, folder, f"{where}.{key}") for key, item in value.items()}


def _learned(name: str, settings: Path) -> str:
    """Have the host learn what the server lists; return why it could not."""
    command = [sys.executable, "-P", "-m", "mcp_host", "packs", "--json", "--config", str(settings)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packs = json.loads(done.stdout)["packs"]
    except (ValueError, KeyError):
        return done.stderr.strip()[-300:]
    reasons = [pack.get("reason", "") for pack in packs if pack["name"] == name]
    failed = [pack for pack in packs if pack["name"] == name and pack["state"] == "failed"]
    return reasons[0] if failed else ""
