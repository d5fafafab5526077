"""TOML edited in place: what is not changed stays as it is, byte for byte.

A table of its own is added and taken out as text. Where the servers are laid out in another way
(inline, or with dotted keys), tomlkit does it. Neither is sure of all layouts: whoever calls these
compares what the edited text says with what it should say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from typing import Any

import tomlkit
from tomlkit.items import InlineTable


def with_table(text: str, servers: str, name: str, entry: Mapping[str, Any]) -> str:
    """The text with `[SERVERS.NAME]` at its end."""
    document = tomlkit.document()
    table = tomlkit.table(is_super_table=True)
    table[name] = dict(entry)
    document[servers] = table
    if text and not text.endswith("\n"):
        text += "\n"
    if text.strip():
        text += "\n"
    return _like(text, text + tomlkit.dumps(document))


def without_table(text: str, servers: str, name: str) -> str:
    """The text without `[SERVERS.NAME]` and what is below it; blank lines and comments stay."""
    lines = text.splitlines(keepends=True)
    own = re.compile(rf"\s*\[\s*{re.escape(servers)}\s*\.\s*([\"']?){re.escape(name)}\1\s*[\].]")
    start = next((n for n, line in enumerate(lines) if own.match(line)), None)
    if start is None:
        return text
    end = start + 1
    for number in range(start + 1, len(lines)):
        line = lines[number].strip()
        if line.startswith("[") and not own.match(line):
            break
        if line and not line.startswith("#"):
            end = number + 1
    follows_blank = end == len(lines) or not lines[end].strip()
    if start > 0 and not lines[start - 1].strip() and follows_blank:
        start -= 1
    return "".join(lines[:start] + lines[end:])


def with_entry(text: str, servers: str, name: str, entry: Mapping[str, Any]) -> str:
    """The text with these keys in the entry, wherever and however it is written."""
    document = tomlkit.parse(text)
    if servers not in document:
        document[servers] = tomlkit.table(is_super_table=True)
    table = document[servers]
    assert isinstance(table, MutableMapping)
    if name not in table:
        inline = isinstance(table, InlineTable)
        table[name] = tomlkit.inline_table() if inline else tomlkit.table()
    table[name].update(entry)
    return _like(text, tomlkit.dumps(document))


def without_entry(text: str, servers: str, name: str) -> str:
    """The text without the entry, wherever and however it is written."""
    document = tomlkit.parse(text)
    table = document.get(servers)
    if isinstance(table, MutableMapping) and name in table:
        del table[name]
    return _like(text, tomlkit.dumps(document))


def _like(text: str, edited: str) -> str:
    """The edited text with the ends of lines of the text before."""
    if "\r\n" not in text:
        return edited
    return re.sub(r"(?<!\r)\n", "\r\n", edited)
