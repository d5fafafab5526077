"""JSON with comments, edited in place: what is not changed stays as it is, byte for byte.

Comments (`//` and `/* */`), trailing commas and a byte order mark are understood, since the
settings files of editors have them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

TRIVIA = re.compile(r"(?:[\s\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
REST_OF_LINE = re.compile(r"(?:[ \t]+|/\*[^\n]*?\*/)*(?://[^\r\n]*)?")
SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null')
MAX_DEPTH = 200


class BadJson(ValueError):
    """Not JSON, not even with comments; says what was expected, and at which line and column."""

    def __init__(self, text: str, at: int, expected: str) -> None:
        line = text.count("\n", 0, at) + 1
        column = at - text.rfind("\n", 0, at)
        super().__init__(f"line {line}, column {column}: {expected} expected")


class NoObject(ValueError):
    """Something on the way to a member is no object."""


@dataclass(frozen=True)
class Node:
    """A value and the place of its text; an object has its members, an array its items."""

    start: int
    end: int
    value: Any
    members: tuple[Member, ...] = ()
    items: tuple[Member, ...] = ()

    def member(self, name: str) -> Member | None:
        """The member that counts: of two with one name, the later."""
        return next((member for member in reversed(self.members) if member.name == name), None)


@dataclass(frozen=True)
class Member:
    """A member of an object, or an item of an array, which has no name."""

    name: str
    start: int
    node: Node


def loads(text: str) -> Any:
    """The value of the text.

    Raises `BadJson`.
    """
    return parse(text).value


def parse(text: str) -> Node:
    """The value of the text, and where each part of it stands.

    Raises `BadJson`.
    """
    return _Scanner(text).file()


def with_member(text: str, keys: tuple[str, ...], value: Any) -> str:
    """The text with the value at `keys`; objects on the way are made when missing.

    Raises `BadJson` and `NoObject`.
    """
    node = parse(text)
    for depth, key in enumerate(keys):
        if not isinstance(node.value, dict):
            raise NoObject(f"{'.'.join(keys[:depth]) or 'the whole'} must be an object")
        member = node.member(key)
        if member is None:
            for missing in reversed(keys[depth + 1 :]):
                value = {missing: value}
            return _insert(text, node, key, value)
        node = member.node
    if node.value == value:
        return text
    indent = _line_indent(text, node.start)
    return text[: node.start] + _render(text, value, indent) + text[node.end :]


def without_member(text: str, keys: tuple[str, ...]) -> str:
    """The text without the member at `keys`; as it is when there is none.

    Raises `BadJson`.
    """
    node: Node | None = parse(text)
    *way, last = keys
    for key in way:
        member = node.member(key) if node else None
        node = member.node if member else None
    member = node.member(last) if node else None
    if node is None or member is None:
        return text
    # A second time for a name that stands there twice.
    return without_member(_remove(text, node, member), keys)


def with_item(text: str, keys: tuple[str, ...], value: Any) -> str:
    """The text with the value as the last item of the array at `keys`, made when missing.

    Raises `BadJson` and `NoObject`.
    """
    node: Node = parse(text)
    for key in keys:
        member = node.member(key)
        if member is None:
            return with_member(text, keys, [value])
        node = member.node
    if not isinstance(node.value, list):
        raise NoObject(f"{'.'.join(keys)} must be a list")
    return _insert(text, node, None, value)


def without_item(text: str, keys: tuple[str, ...], value: Any) -> str:
    """The text without the items of this value in the array at `keys`.

    Raises `BadJson`.
    """
    node: Node | None = parse(text)
    for key in keys:
        member = node.member(key) if node else None
        node = member.node if member else None
    items = node.items if node else ()
    item = next((item for item in items if item.node.value == value), None)
    if node is None or item is None:
        return text
    return without_item(_remove(text, node, item), keys, value)


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def file(self) -> Node:
        node = self.value(0)
        self.skip()
        if self.at != len(self.text):
            self.fail("the end of the file")
        return node

    def value(self, depth: int) -> Node:
        self.skip()
        if depth > MAX_DEPTH:
            self.fail("less nesting")
        if self.text.startswith("{", self.at):
            return self.object(depth)
        if self.text.startswith("[", self.at):
            return self.array(depth)
        return self.scalar()

    def object(self, depth: int) -> Node:
        start = self.at
        members: list[Member] = []
        self.take("{")
        closed = self.take("}")
        while not closed:
            members.append(self.member(depth))
            closed = self.another("}")
        value = {member.name: member.node.value for member in members}
        return Node(start, self.at, value, tuple(members))

    def member(self, depth: int) -> Member:
        self.skip()
        start = self.at
        if not self.text.startswith('"', start):
            self.fail("a name in double quotes")
        name = self.scalar().value
        if not self.take(":"):
            self.fail("a colon")
        return Member(name, start, self.value(depth + 1))

    def array(self, depth: int) -> Node:
        start = self.at
        items: list[Member] = []
        self.take("[")
        closed = self.take("]")
        while not closed:
            self.skip()
            items.append(Member("", self.at, self.value(depth + 1)))
            closed = self.another("]")
        return Node(start, self.at, [item.node.value for item in items], items=tuple(items))

    def scalar(self) -> Node:
        start = self.at
        found = SCALAR.match(self.text, start)
        if not found:
            self.fail("a value")
        try:
            value = json.loads(found.group())
        except ValueError:
            self.fail("a value")
        self.at = found.end()
        return Node(start, self.at, value)

    def another(self, closing: str) -> bool:
        """Step over what follows an item; True when that ends the list."""
        comma = self.take(",")
        closed = self.take(closing)
        if not comma and not closed:
            self.fail(f"a comma or {closing}")
        return closed

    def take(self, symbol: str) -> bool:
        self.skip()
        there = self.text.startswith(symbol, self.at)
        if there:
            self.at += 1
        return there

    def skip(self) -> None:
        self.at = _after_trivia(self.text, self.at)

    def fail(self, expected: str) -> NoReturn:
        raise BadJson(self.text, self.at, expected)


def _insert(text: str, node: Node, name: str | None, value: Any) -> str:
    """The text with one more member of an object, or item of an array (`name` is None)."""
    parts = node.members or node.items
    if not parts:
        return _fill(text, node, name, value)
    last = parts[-1]
    key = "" if name is None else f"{_quoted(name)}: "
    comma = _comma_after(text, last.node.end)
    indent = _own_line(text, last.start)
    if indent is None:
        new, gap, at = f"{key}{_quoted(value)}", " ", comma or last.node.end
    else:
        new = f"{key}{_render(text, value, indent)}"
        gap = _newline(text) + indent
        at = _end_of_line(text, comma or last.node.end)
    kept = text[last.node.end : at]
    if comma:
        return f"{text[: last.node.end]}{kept}{gap}{new},{text[at:]}"
    return f"{text[: last.node.end]},{kept}{gap}{new}{text[at:]}"


def _fill(text: str, node: Node, name: str | None, value: Any) -> str:
    """The first member of an object, or item of an array, that may hold comments already."""
    outer = _line_indent(text, node.start)
    inner = outer + _unit(text)
    comments = text[node.start + 1 : node.end - 1].rstrip()
    key = "" if name is None else f"{_quoted(name)}: "
    new = f"{_newline(text)}{inner}{key}{_render(text, value, inner)}"
    closing = f"{_newline(text)}{outer}{text[node.end - 1]}"
    return f"{text[: node.start + 1]}{comments}{new}{closing}{text[node.end :]}"


def _remove(text: str, node: Node, member: Member) -> str:
    parts = node.members or node.items
    position = parts.index(member)
    before = parts[position - 1] if position else None
    comma = _comma_after(text, member.node.end)
    start, end = member.start, comma or member.node.end
    indent = _own_line(text, start)
    line_end = _end_of_line(text, end)
    if indent is not None and text[line_end : line_end + 1] in ("\r", "\n"):
        start -= len(indent)
        end = text.index("\n", line_end) + 1
    elif comma:
        end = _after_blanks(text, end)
    elif before:
        start = before.node.end
    rest = text[end:]
    kept = text[:start]
    separator = _comma_after(text, before.node.end) if before and not comma else None
    if separator and separator <= start:
        # The comma between the two would trail now.
        kept = text[: separator - 1] + text[separator:start]
    emptied = len(parts) == 1 and not text[node.start + 1 : start].strip()
    if emptied and rest.lstrip().startswith(text[node.end - 1]):
        return kept.rstrip() + rest.lstrip()
    return kept + rest


def _render(text: str, value: Any, indent: str) -> str:
    """As people write it: objects over several lines, everything else on one."""
    inner = indent + _unit(text)
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        gap = _newline(text) + inner
        items = (f"{gap}{_render(text, item, inner)}" for item in value)
        return f"[{','.join(items)}{_newline(text)}{indent}]"
    if not isinstance(value, dict) or not value:
        return _quoted(value)
    gap = _newline(text) + inner
    members = (f"{gap}{_quoted(key)}: {_render(text, item, inner)}" for key, item in value.items())
    return f"{{{','.join(members)}{_newline(text)}{indent}}}"


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """What the file indents by: as far as its first indented line is."""
    found = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return found.group(1) if found else "  "


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _own_line(text: str, at: int) -> str | None:
    """The indentation of what begins at `at`, if nothing stands before it on its line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line if not line.strip(" \t") and "\n" in text[:at] else None


def _comma_after(text: str, at: int) -> int | None:
    """The place behind the comma that follows, if one does."""
    comma = _after_trivia(text, at)
    return comma + 1 if text.startswith(",", comma) else None


def _after_trivia(text: str, at: int) -> int:
    found = TRIVIA.match(text, at)
    return found.end() if found else at


def _after_blanks(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t"):
        at += 1
    return at


def _end_of_line(text: str, at: int) -> int:
    """Behind the comments and blanks that follow on the same line."""
    found = REST_OF_LINE.match(text, at)
    return found.end() if found else at
