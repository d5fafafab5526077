"""YAML edited in place: what is not changed stays as it is, byte for byte, comments included.

The ends of lines must be of one kind, `\\n`.

ruamel.yaml makes the changed entry, comments in it included; its lines alone are put into the text,
whose other lines are not touched. Where the two cannot be told apart, nothing is changed: whoever
calls these compares what the edited text says with what it should say.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from ..errors import SettingsError

if TYPE_CHECKING:
    from ruamel.yaml import YAML


COMMENT = re.compile(r"\s+#.*$")


class BadYaml(ValueError):
    """Not YAML, or of a kind that cannot be read here; says where and why."""


class NoYamlError(SettingsError):
    """YAML cannot be read in this installation."""


def loads(text: str) -> Any:
    """The value of the text; mappings and lists are ruamel's, and equal plain ones.

    Raises `BadYaml`.
    """
    yaml = _yaml(text)
    from ruamel.yaml.error import YAMLError  # which is there, since the line above passed

    try:
        return yaml.load(text)
    except (YAMLError, ValueError, RecursionError) as error:
        where = getattr(error, "problem_mark", None)
        place = f"line {where.line + 1}, column {where.column + 1}: " if where else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise BadYaml(f"{place}{problem}") from None


def with_entry(text: str, servers: str, name: str, entry: Mapping[str, Any], listed: bool) -> str:
    """The text with these keys in the entry of that name."""
    document = loads(text)
    if document is None:
        new: Any = [dict(entry)] if listed else {name: dict(entry)}
        return "".join(_ended(text.splitlines(keepends=True))) + _dumped(text, {servers: new})
    table = document.get(servers)
    at = _position(table, name, listed)
    if at is None:
        return _added(text, document, servers, name, entry, listed)
    before = _block(text, table, at)
    table[at].update(entry)
    changed = _dumped(text, document)
    return _spliced(text, before, changed, _block(changed, loads(changed)[servers], at))


def without_entry(text: str, servers: str, name: str, listed: bool) -> str:
    """The text without the entry of that name."""
    table = (loads(text) or {}).get(servers)
    at = _position(table, name, listed)
    if at is None:
        return text
    start, end = _block(text, table, at)
    lines = text.splitlines(keepends=True)
    if table is not None and len(table) > 1:
        return "".join(lines[:start] + lines[end:])
    head = loads(text).lc.key(servers)[0]
    key, comma, comment = lines[head].rstrip("\n").partition(":")
    empty = f"{key}{comma} {'[]' if listed else '{}'}{comment}\n"
    return "".join([*lines[:head], empty, *lines[head + 1 : start], *lines[end:]])


def _added(
    text: str, document: Any, servers: str, name: str, entry: Mapping[str, Any], listed: bool
) -> str:
    table = document.get(servers)
    new: Any = [dict(entry)] if listed else {name: dict(entry)}
    lines = text.splitlines(keepends=True)
    if not table:
        if servers not in document:
            return "".join(_ended(lines)) + _dumped(text, {servers: new})
        # `servers:` without anything, `{}` or `[]`, on a line of its own.
        head = document.lc.key(servers)[0]
        comment = COMMENT.search(lines[head].rstrip("\n"))
        said, rest = _dumped(text, {servers: new}).split("\n", 1)
        first = f"{said}{comment.group() if comment else ''}\n"
        return "".join([*lines[:head], first, rest, *lines[head + 1 :]])
    last = len(table) - 1 if listed else [*table][-1]
    start, end = _block(text, table, last)
    margin = lines[start][: len(lines[start]) - len(lines[start].lstrip(" "))]
    added = [margin + line for line in dedent(_dumped(text, new)).splitlines(keepends=True)]
    return "".join([*_ended(lines[:end]), *added, *lines[end:]])


def _position(table: Any, name: str, listed: bool) -> Any:
    """Where in the table the entry of that name is: its key, or its number; None without one."""
    if listed:
        items: Sequence[Any] = table if isinstance(table, list) else ()
        return next(
            (
                n
                for n, item in enumerate(items)
                if isinstance(item, dict) and item.get("name") == name
            ),
            None,
        )
    return name if isinstance(table, dict) and name in table else None


def _block(text: str, table: Any, at: Any) -> tuple[int, int]:
    """The lines of an entry: from its first to behind its last, blank lines and comments after."""
    lines = text.splitlines()
    places = table.lc
    start = places.item(at)[0] if isinstance(table, list) else places.key(at)[0]
    margin = len(lines[start]) - len(lines[start].lstrip(" "))
    end = start + 1
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if len(line) - len(line.lstrip(" ")) <= margin:
            break
        end = number + 1
    return start, end


def _spliced(text: str, place: tuple[int, int], source: str, of: tuple[int, int]) -> str:
    """The text with the lines at a place replaced by those of another text."""
    lines, others = text.splitlines(keepends=True), source.splitlines(keepends=True)
    old, new = lines[slice(*place)], others[slice(*of)]
    shift = _margin(old[0]) - _margin(new[0])
    moved = [f"{' ' * shift}{line}" if shift > 0 else line[-shift:] for line in new]
    return "".join([*lines[: place[0]], *_ended(moved), *lines[place[1] :]])


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _ended(lines: list[str]) -> list[str]:
    """The lines, the last of them with an end."""
    return lines if not lines or lines[-1].endswith("\n") else [*lines[:-1], f"{lines[-1]}\n"]


def _dumped(text: str, document: Any) -> str:
    written = io.StringIO()
    _yaml(text).dump(document, written)
    return written.getvalue()


def _yaml(text: str) -> YAML:
    try:
        from ruamel.yaml import YAML
        from ruamel.yaml.util import load_yaml_guess_indent
    except ImportError:
        raise NoYamlError(
            'a file in YAML is edited with ruamel.yaml: pip install "mcp-host[yaml]"'
        ) from None
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    try:
        _, indent, offset = load_yaml_guess_indent(text)
    except Exception:  # it is said by whoever loads the text
        indent, offset = None, None
    if indent is not None:
        yaml.indent(mapping=2, sequence=indent, offset=offset or 0)
    return yaml
