"""The text of a client's file with another entry in it; all else stays byte for byte.

The errors are those of the syntax: `jsonc.BadJson` and `jsonc.NoObject`, `tomllib.TOMLDecodeError`
and those of tomlkit, `yaml.BadYaml`, and `UnsafeError`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from . import jsonc, toml, yaml
from .client import Client, Entry, input_for

MARK = "\ufeff"
"""The byte-order mark that some editors put at the beginning of a file."""
READERS: Mapping[str, Callable[[str], Any]] = {
    "json": jsonc.loads,
    "toml": tomllib.loads,
    "yaml": yaml.loads,
}
INPUTS = "inputs"
"""The list of what a client asks its user for, in files of VS Code's kind."""


class UnsafeError(Exception):
    """An edit would change more than the entry."""


def entries_of(client: Client, text: str) -> dict[str, Entry]:
    """All entries in the text of a client's file, by their names."""
    text = text.removeprefix(MARK)
    if not text.strip():
        return {}
    read = READERS[client.syntax]
    data = read(text)
    table = data.get(client.servers) if isinstance(data, Mapping) else None
    return _by_name(client, table)


def entries_of_projects(client: Client, text: str) -> dict[str, dict[str, Entry]]:
    """All entries that belong to one project each, by the projects' folders and by their names."""
    text = text.removeprefix(MARK)
    if not client.projects or not text.strip():
        return {}
    data = READERS[client.syntax](text)
    table = data.get(client.projects) if isinstance(data, Mapping) else None
    projects = table.items() if isinstance(table, Mapping) else ()
    found = {
        str(folder): _by_name(client, project.get(client.servers))
        for folder, project in projects
        if isinstance(project, Mapping)
    }
    return {folder: entries for folder, entries in found.items() if entries}


def without_entry_of_project(client: Client, text: str, project: str, name: str) -> str:
    """The text of a JSON file without this entry of a project."""
    wanted = jsonc.loads(text.removeprefix(MARK))
    del wanted[client.projects][project][client.servers][name]
    text = jsonc.without_member(text, (client.projects, project, client.servers, name))
    if jsonc.loads(text.removeprefix(MARK)) != wanted:
        raise UnsafeError
    return text


def entry_of(client: Client, text: str, name: str) -> Entry | None:
    """The entry of that name in the text of a client's file; None where there is none."""
    return entries_of(client, text).get(name)


def edited(
    client: Client, text: str, name: str, entry: Entry | None, inputs: Iterable[Entry] = ()
) -> str:
    """The text with this entry under the name; without the entry where it is None.

    `inputs` are what the client is to ask its user for; what is asked for already stays. Of an
    entry that goes, the inputs go that nothing else refers to.
    """
    if entry is not None and not text.removeprefix(MARK).strip():
        text = client.begins
    if client.syntax == "json":
        return _edit_json(client, text, name, entry, list(inputs))
    return (_edit_toml if client.syntax == "toml" else _edit_yaml)(client, text, name, entry)


def _by_name(client: Client, table: Any) -> dict[str, Entry]:
    if client.listed:
        items = table if isinstance(table, list) else ()
        return {
            str(item["name"]): item for item in items if isinstance(item, dict) and "name" in item
        }
    if not isinstance(table, Mapping):
        return {}
    return {str(name): entry for name, entry in table.items() if isinstance(entry, dict)}


def _edit_json(
    client: Client, text: str, name: str, entry: Entry | None, inputs: list[Entry]
) -> str:
    if not text.strip().removeprefix(MARK):
        text = "{}\n"
    servers = client.servers
    data = jsonc.loads(text)
    wanted = _with_entry(client, data, name, entry)
    if entry is None:
        text = jsonc.without_member(text, (servers, name))
    elif name in _by_name(client, data.get(servers)):
        for key, value in entry.items():
            text = jsonc.with_member(text, (servers, name, key), value)
    else:
        text = jsonc.with_member(text, (servers, name), entry)
    if jsonc.loads(text) != wanted:
        raise UnsafeError
    return _edit_inputs(client, data, text, name, entry, inputs) if client.inputs else text


def _edit_inputs(
    client: Client, old: Any, text: str, name: str, entry: Entry | None, inputs: list[Entry]
) -> str:
    listed = old.get(INPUTS, [])
    if not isinstance(listed, list):
        raise jsonc.NoObject(f"{INPUTS} must be a list")
    there = {item.get("id") for item in listed if isinstance(item, dict)}
    for item in inputs:
        if item["id"] not in there:
            text = jsonc.with_item(text, (INPUTS,), item)
    if entry is None:
        was = _by_name(client, old.get(client.servers)).get(name, {})
        for item in reversed(listed):
            asked = item.get("id") if isinstance(item, dict) else None
            called = f"${{input:{asked}}}"
            if item == input_for(str(asked)) and called in str(was) and called not in text:
                text = jsonc.without_item(text, (INPUTS,), item)
        if not listed and INPUTS in old:
            return text
        if INPUTS in old and jsonc.loads(text).get(INPUTS) == []:
            text = jsonc.without_member(text, (INPUTS,))
    return text


def _edit_toml(client: Client, text: str, name: str, entry: Entry | None) -> str:
    servers = client.servers
    mark = MARK if text.startswith(MARK) else ""
    text = text.removeprefix(mark)
    data = tomllib.loads(text)
    wanted = _with_entry(client, data, name, entry)
    ways: Sequence[Callable[[str, str, str], str]]
    if entry is None:
        ways = (toml.without_table, toml.without_entry)
    elif name not in _by_name(client, data.get(servers)):
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


def _edit_yaml(client: Client, text: str, name: str, entry: Entry | None) -> str:
    mark = MARK if text.startswith(MARK) else ""
    body = text.removeprefix(mark)
    plain = body.replace("\r\n", "\n")
    if "\r" in plain or (plain != body and body.count("\n") != body.count("\r\n")):
        raise UnsafeError  # ends of lines of more than one kind would become one kind
    data = yaml.loads(plain)
    wanted = _with_entry(client, {} if data is None else data, name, entry)
    if entry is None:
        after = yaml.without_entry(plain, client.servers, name, client.listed)
    else:
        after = yaml.with_entry(plain, client.servers, name, entry, client.listed)
    try:
        if (yaml.loads(after) or {}) != wanted:
            raise UnsafeError
    except yaml.BadYaml:
        raise UnsafeError from None
    return mark + (after.replace("\n", "\r\n") if plain != body else after)


def _with_entry(client: Client, data: Any, name: str, entry: Entry | None) -> Any:
    """The data that the edited file must hold."""
    servers = client.servers
    if not isinstance(data, dict):
        raise jsonc.NoObject("the whole must be an object")
    kind = list if client.listed else dict
    table: Any = data.get(servers)
    if servers not in data or (table is None and client.syntax != "json"):
        table = kind()
    if not isinstance(table, kind):
        raise jsonc.NoObject(f"{servers} must be {'a list' if client.listed else 'an object'}")
    given: Any = table
    old = _by_name(client, table).get(name)
    if entry is None:
        return {**data, servers: _without(table, name)} if servers in data else data
    new = {**old, **entry} if isinstance(old, dict) else entry
    if not client.listed:
        return {**data, servers: {**given, name: new}}
    if old is None:
        return {**data, servers: [*table, new]}
    return {**data, servers: [new if item is old else item for item in table]}


def _without(table: Any, name: str) -> Any:
    if isinstance(table, dict):
        return {key: value for key, value in table.items() if key != name}
    return [item for item in table if not (isinstance(item, dict) and item.get("name") == name)]
