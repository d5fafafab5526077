"""Whether a client could start the host with these settings, before it is told to."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...clients.client import Client, Entry
from ...errors import SettingsError
from ...packs.discovery import discover
from ...settings.loading import load
from ...startup.trust import user_file


def needed_variables(settings_file: Path, client: Client, entry: Entry | None) -> tuple[str, ...]:
    """The variables that the client's entry must carry, by reference to where the client runs.

    Clients start servers with an environment of their own. Raises `SettingsError` where the host
    would not start for a client as it does here: a client that cannot refer to a variable must have
    it in its entry already.
    """
    environment = (entry or {}).get(client.environment)
    given = environment if isinstance(environment, Mapping) else {}
    needed = sorted(_variables(_read(settings_file)) - given.keys())
    if needed and not client.can_refer:
        raise SettingsError(
            f"{settings_file} reads {_listed(needed)} from the environment, which {client.title} "
            f"does not pass on: give a default in the settings or read a file there, or add "
            f"--force and set {'it' if len(needed) == 1 else 'them'} under `{client.environment}` "
            "in the entry"
        )
    plain = {name: value for name, value in given.items() if not _is_reference(value)}
    if all(name in os.environ for name in (*needed, *(given.keys() - plain.keys()))):
        refuse_missing_packs(settings_file, plain)
    return tuple(needed)


def refuse_missing_packs(settings_file: Path, given: Mapping[str, str]) -> None:
    """Raise `SettingsError` where the settings enable packs that are not installed, or are wrong.

    `given` are the variables that a client's entry will have, beside those of this process.
    """
    offers = discover()
    settings = load(settings_file, {**os.environ, **given})
    known = {*offers, *settings.workers}
    missing = [
        name
        for name, table in settings.packs.items()
        if table.enabled and table.file is None and name not in known
    ]
    if missing:
        raise SettingsError(
            f"{settings_file} enables {_listed(missing)}, and no installed distribution offers "
            f"{'that pack' if len(missing) == 1 else 'those packs'}: install one, or add --force"
        )


def _is_reference(value: Any) -> bool:
    """Whether a value of an entry stands for another that only the client knows."""
    return str(value).startswith("$") or "{" in str(value)


def project_root(settings_file: Path) -> Path | None:
    """The project that the client's host is about: clients start it in any folder they like."""
    host = _read(settings_file).get("host")
    root = host.get("root") if isinstance(host, Mapping) else None
    if isinstance(root, str):
        return settings_file.parent / Path(root).expanduser()
    folder = settings_file.parent
    is_of_project = settings_file.resolve() != user_file().resolve()
    return folder if is_of_project and folder not in (Path.home(), Path(folder.anchor)) else None


def _read(settings_file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(settings_file.read_text("utf-8"))
    except (OSError, ValueError):
        load(settings_file)  # says what is wrong with it
        raise


def _variables(data: Any) -> set[str]:
    """The variables that are read and have no default."""
    if isinstance(data, list):
        return {name for item in data for name in _variables(item)}
    if not isinstance(data, Mapping):
        return set()
    if isinstance(data.get("env"), str) and set(data) == {"env"}:
        return {data["env"]}
    return {name for item in data.values() for name in _variables(item)}


def _listed(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
