"""`mcp-host enable` and `disable`: edits of a person's file, which keep comments and order."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import SettingsError
from ..trust import is_trusted, write_atomically
from ..trust import trust as record_trust
from .common import ConfigOption, chosen_file

Name = Annotated[str, typer.Argument(help="The pack.")]


def enable(name: Name, config: ConfigOption = None) -> None:
    """Enable a pack."""
    from ..packs import discover

    path = chosen_file(config)
    offers = discover()
    if name not in offers:
        known = ", ".join(offers) or "none"
        raise SettingsError(f"no pack '{name}' is installed; installed are: {known}")
    _set(path, name, True)
    print(f"{name} is enabled in {path}.")


def disable(name: Name, config: ConfigOption = None) -> None:
    """Disable a pack; its settings stay."""
    from ..settings import load

    path = chosen_file(config)
    if name not in load(path).packs:
        raise SettingsError(f"{path} has no [packs.{name}]")
    _set(path, name, False)
    print(f"{name} is disabled in {path}.")


def _set(path: Path, name: str, enabled: bool) -> None:
    import tomlkit

    from ..settings import load

    table = load(path).packs.get(name)
    if table is not None and table.enabled is enabled:
        return
    document = tomlkit.parse(path.read_text("utf-8"))
    packs = document.setdefault("packs", tomlkit.table(is_super_table=True))
    if name not in packs:
        packs[name] = tomlkit.table()
    packs[name]["enabled"] = enabled
    trusted = is_trusted(path)
    file = path.resolve()  # a link to it stays one
    write_atomically(file, tomlkit.dumps(document).encode(), file.stat().st_mode & 0o777)
    if trusted:
        record_trust(path)
