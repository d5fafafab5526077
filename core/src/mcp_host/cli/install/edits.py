"""The text of a client's file with another entry in it; all else stays byte for byte.

The errors are those of the syntax: `jsonc.BadJson` and `jsonc.NoObject`, `tomllib.TOMLDecodeError`
and those of tomlkit, and `UnsafeError`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from . import jsonc, toml
from .clients import Client, Entry

MARK = "\ufeff"
"""The byte-order mark that some editors put at the beginning of a file."""


class UnsafeError(Exception):
    """An edit would change more than the entry."""


def entry_of(client: Client, text: str, name: str) -> Entry | None:
    """The entry of that name in the text of a client's file; None where there is none."""
    text = text.removeprefix(MARK)
    if not text.strip():
        return None
    read = jsonc.loads if client.syntax == "json" else tomllib.loads
    found = _found(read(text), client.servers, name)
    return found if isinstance(found, dict) else None


def edited(client: Client, text: str, name: str, entry: Entry | None) -> str:
    """The text with this entry under the name; without the entry where it is None."""
    edit = _edit_json if client.syntax == "json" else _edit_toml
    return edit(text, client.servers, name, entry)


def _edit_json(text: str, servers: str, name: str, entry: Entry | None) -> str:
    if not text.strip().removeprefix(MARK):
        text = "{}\n"
    wanted = _with_entry(jsonc.loads(text), servers, name, entry)
    if entry is None:
        text = jsonc.without_member(text, (servers, name))
    elif isinstance(_found(jsonc.loads(text), servers, name), dict):
        for key, value in entry.items():
            text = jsonc.with_member(text, (servers, name, key), value)
    else:
        text = jsonc.with_member(text, (servers, name), entry)
    if jsonc.loads(text) != wanted:
        raise UnsafeError
    return text


def _edit_toml(text: str, servers: str, name: str, entry: Entry | None) -> str:
    mark = MARK if text.startswith(MARK) else ""
    text = text.removeprefix(mark)
    wanted = _with_entry(tomllib.loads(text), servers, name, entry)
    ways: Sequence[Callable[[str, str, str], str]]
    if entry is None:
        ways = (toml.without_table, toml.without_entry)
    elif _found(tomllib.loads(text), servers, name) is None:
        ways = (partial(toml.with_table, entry=entry), partial(toml.with_entry, entry=entry))
    else:
        ways = (partial(toml.with_entry, entry=entry),)
    for edit in ways:
        edited = edit(text, servers, name)
        try:
            # A table of servers that is empty now may be gone altogether.
            if {servers: {}, **tomllib.loads(edited)} == {servers: {}, **wanted}:
                return mark + edited
        except tomllib.TOMLDecodeError:
            continue
    raise UnsafeError


def _found(data: Any, servers: str, name: str) -> Any:
    table = data.get(servers) if isinstance(data, Mapping) else None
    return table.get(name) if isinstance(table, Mapping) else None


def _with_entry(data: Any, servers: str, name: str, entry: Entry | None) -> Any:
    """The data that the edited file must hold."""
    if not isinstance(data, dict):
        raise jsonc.NoObject("the whole must be an object")
    table = data.get(servers, {})
    if not isinstance(table, dict):
        raise jsonc.NoObject(f"{servers} must be an object")
    if entry is None:
        kept = {key: value for key, value in table.items() if key != name}
        return {**data, servers: kept} if servers in data else data
    old = table.get(name)
    new = {**old, **entry} if isinstance(old, dict) else entry
    return {**data, servers: {**table, name: new}}
