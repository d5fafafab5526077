"""Markdown check lists, and what OpenSpec's `tasks.md` has in common with them.

`- [ ] text` is a task, `- [x] text` a completed and `- [-] text` a cancelled one; what is indented
below is part of it, and lines without a box are its details. An item has no id there, so that its
words are its id, below the file and the headings that it stands under; OpenSpec's have numbers.
What stands between items is no task: it is kept with the one below it (`above`), after the last
with that one (`below`), so that an export writes it again.

A list is written with our ids where reading it would not find the same tasks without them: at
tasks that were made here, and at those of a list that is written to another file.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from ...model import Status
from .details import Hidden, moved_details, read_details, written_details
from .record import Record, id_of, marked, told, told_apart, unmarked

ITEM = re.compile(r"^(\s*)(?:[-*+]|\d{1,9}[.)])\s+\[\s*([^\s\]]?)\s*\](?![(\[])\s*(.*)$")
HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*\s*$")
_NUMBER = re.compile(r"^(\d+(?:\.\d+)+)\.?\s+")
# A name that begins as a number does has a backslash in it.
_LIKE_NUMBER = re.compile(r"^(\d+)(?=\\*\.\d+(?:\.\d+)*\.?\s)")
_NO_NUMBER = re.compile(r"^(\d+)\\(?=\\*\.\d+(?:\.\d+)*\.?\s)")
FIELDS = frozenset({"name", "details", "status", "subtask_of"})
_DONE = {"x": Status.COMPLETED, "X": Status.COMPLETED, "-": Status.CANCELLED}
_BOX = {Status.PENDING: " ", Status.COMPLETED: "x", Status.CANCELLED: "-"}


@dataclass(slots=True)
class _Item:
    depth: int
    words: str
    record: Record
    above: list[str]
    line: str
    body: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Changes:
    """What must be written otherwise than it came: the tasks that need our id, and those that do
    not stand where they stood."""

    marked: set[str] = field(default_factory=set)
    moved: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Writing:
    """A list under way: its lines, and its tasks in the order in which they are read again."""

    parts: Mapping[str, Sequence[Record]]
    changes: Changes
    lines: list[str] = field(default_factory=list)
    order: list[Record] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Checklist:
    """`target` is the file that the list is written to, None for the one that it came from."""

    name = "markdown"
    target: str | None = None

    def read(self, files: Mapping[str, str]) -> list[Record]:
        return [one for path, content in files.items() for one in read_items(content, _scope(path))]

    def write(self, records: Sequence[Record]) -> dict[str, str]:
        path = self.target or next((one.place for one in records if one.place), "")
        scope = _scope(path)

        def written(changes: Changes) -> tuple[str, list[Record]]:
            return _list(records, changes)

        return {"": with_ids(self.name, written, lambda text: read_items(text, scope))}

    def new_id(self, number: int, task_id: str) -> str:
        return task_id


def _scope(path: str) -> str:
    return PurePosixPath(path).stem


def _list(records: Sequence[Record], changes: Changes) -> tuple[str, list[Record]]:
    known = {record.id for record in records}
    writing = Writing(parts_of(records), changes)
    heading = None
    for record in records:
        if record.parent in known:
            continue
        above = record.rest.get("headings", [])
        if above != heading and (above or heading):
            heading = above
            if above and title_in(record) != above[-1]:
                level = record.rest.get("level", 2)
                writing.lines += ["", f"{'#' * level} {above[-1]}", ""]
        write_item(writing, record, "")
    return joined(writing.lines, records), writing.order


def parts_of(records: Sequence[Record]) -> dict[str, list[Record]]:
    parts: dict[str, list[Record]] = {}
    for record in records:
        if record.parent:
            parts.setdefault(record.parent, []).append(record)
    return parts


def with_ids(
    form: str,
    written: Callable[[Changes], tuple[str, list[Record]]],
    read: Callable[[str], list[Record]],
) -> str:
    """Return a list with our ids at the tasks that would not be found by what is written of them,
    which is tried: so that it comes back as the same tasks, and is as it was where it can be."""
    changes = Changes()
    while True:
        whole, order = written(changes)
        again = told_apart(read(whole))
        marked, moved = _missed(form, order, again)
        if marked <= changes.marked and moved <= changes.moved:
            return whole
        changes.marked |= marked
        changes.moved |= moved


def _missed(
    form: str, order: Sequence[Record], again: Sequence[Record]
) -> tuple[set[str], set[str]]:
    """Return the tasks that are not read as themselves, and those that are read as parts of
    another task than theirs."""
    if len(again) != len(order):
        return {one.id for one in order}, set()
    pairs = [*zip(order, again, strict=True)]
    theirs = {one.id: there.id for one, there in pairs}
    ours = {one.id: there.task_id or id_of(form, there.id) for one, there in pairs}
    return (
        {one.id for one, _ in pairs if ours[one.id] != one.task_id},
        {one.id for one, there in pairs if theirs.get(one.parent or "") != there.parent},
    )


def read_items(content: str, scope: str) -> list[Record]:
    headings: list[tuple[int, str]] = []
    open_items: list[_Item] = []
    found: list[_Item] = []
    between: list[str] = []
    hidden = Hidden()
    seen: Counter[str] = Counter()
    lines, ends = _lines_of(content)
    for line in lines:
        is_plain = hidden.hides(line)
        if title := None if is_plain else HEADING.match(line):
            level = len(title[1])
            headings = [*((n, t) for n, t in headings if n < level), (level, title[2])]
            open_items = []
            between.append(line)
        elif item := None if is_plain else ITEM.match(line):
            depth = len(item[1].expandtabs(4))
            open_items = [one for one in open_items if one.depth < depth]
            parent = open_items[-1] if open_items else None
            words, record = _record(item, headings, parent, scope)
            record = replace(record, id=told(words, seen))
            if found:
                between = [*_blank_end(found[-1].body), *between]
            open_items.append(_Item(depth, words, record, between, line))
            found.append(open_items[-1])
            between = []
        elif open_items and (not line.strip() or line.startswith((" ", "\t"))):
            open_items[-1].body.append(line)
        else:
            open_items = [] if line.strip() else open_items
            between.append(line)
    if found:
        found[-1].below = [*_blank_end(found[-1].body), *between]
        first = found[0]
        first.record = replace(first.record, rest={**first.record.rest, **ends})
    return [_whole(one) for one in found]


def _record(
    item: re.Match[str], headings: Sequence[tuple[int, str]], parent: _Item | None, scope: str
) -> tuple[str, Record]:
    """Return a task, and the words that are its id where it is the only one of them."""
    name, own = unmarked(item[3].rstrip("\r"))
    above = [text for _, text in headings]
    words = "/".join([scope, *(above if parent is None else [parent.words]), name])
    number = _NUMBER.match(name)
    rest: dict[str, Any] = {"headings": above, "level": headings[-1][0] if headings else 0}
    if number:
        rest["number"], name = number[1], name[number.end() :]
        words = f"{scope}/{number[1]}"
    return words, Record(
        id=words,
        name=_NO_NUMBER.sub(r"\1", name).strip() or "…",
        status=_DONE.get(item[2], Status.PENDING),
        parent=parent.record.id if parent else None,
        rest=rest,
        task_id=own,
        fields=FIELDS,
        place=scope,
    )


def _lines_of(content: str) -> tuple[list[str], dict[str, Any]]:
    """Return the lines of a file, and what to keep of how they ended and of what is above them,
    where it is not as usual. Of a file whose lines all end as on Windows they are ours; single ends
    of that kind belong to the text."""
    ends: dict[str, Any] = {}
    if content.count("\r\n") == content.count("\n") > 0:
        content, ends["newline"] = content.replace("\r\n", "\n"), "\r\n"
    if not content.endswith("\n"):
        ends["is_cut"] = True
    plain = content.lstrip("\n")
    if len(plain) < len(content):
        ends["blank"] = len(content) - len(plain)
    return content.removesuffix("\n").split("\n"), {"_ends": ends} if ends else {}


def joined(lines: Sequence[str], records: Sequence[Record]) -> str:
    """Return a file, its lines ended as they were in the one that it came from."""
    ends: dict[str, Any] = next((one.rest["_ends"] for one in records if "_ends" in one.rest), {})
    whole = "\n" * ends.get("blank", 0) + "\n".join(lines).lstrip("\n")
    whole += "" if ends.get("is_cut") else "\n"
    newline = ends.get("newline", "\n")
    return whole if newline == "\n" else re.sub("\r?\n", newline, whole)


def _blank_end(lines: list[str]) -> list[str]:
    """Take the blank lines off the end of a body, and return them."""
    count = next((n for n, line in enumerate(reversed(lines)) if line.strip()), len(lines))
    end = lines[len(lines) - count :]
    del lines[len(lines) - count :]
    return end


def _whole(item: _Item) -> Record:
    rest: dict[str, Any] = {**item.record.rest, "above": item.above, "line": item.line}
    rest |= {"body": item.body} if item.body else {}
    rest |= {"below": item.below} if item.below else {}
    return replace(item.record, details=_body(item.line, item.body), rest=rest)


def _body(line: str, body: Sequence[str]) -> str:
    """Return the details below an item; below one of ours, it is known how far they stand in."""
    said = ITEM.match(line)
    is_ours = said is not None and unmarked(said[3])[1] is not None
    return read_details(body, len(said[1]) + 2 if said and is_ours else None)


def headings_in(record: Record) -> list[int]:
    """Return which of the lines above an item are headings."""
    hidden = Hidden()
    lines = enumerate(record.rest.get("above", ()))
    return [n for n, line in lines if not hidden.hides(line) and HEADING.match(line)]


def title_in(record: Record) -> str | None:
    """Return the last heading of what stands above an item."""
    found = headings_in(record)
    title = HEADING.match(record.rest["above"][found[-1]]) if found else None
    return title[2] if title else None


def write_item(writing: Writing, record: Record, indent: str) -> None:
    """Write a task with its details and its parts."""
    number = record.rest.get("number")
    name = f"{number} {record.name}" if number else _LIKE_NUMBER.sub(r"\1\\", record.name)
    was = record.rest.get("line", "")
    said = None if record.id in writing.changes.moved else ITEM.match(was)
    if said and (said[1] or not indent):
        indent = said[1]
    line, body = was, record.rest.get("body", [])
    if not (said and _is_same(record, said, name)):
        line = f"{indent}- [{_BOX[record.status]}] {name}"
    is_marked = record.id in writing.changes.marked
    if _body(was, body) != record.details:
        body = written_details(record.details, indent)
    elif not said or is_marked:
        body = moved_details(body, f"{indent}  ")
    if is_marked and unmarked(line)[1] is None:
        line = marked(line.rstrip(), record)
    writing.order.append(record)
    writing.lines += [*_above(record, is_first=not writing.lines), line, *body]
    for part in writing.parts.get(record.id, ()):
        write_item(writing, part, f"{indent}  ")
    writing.lines += record.rest.get("below", ())


def _above(record: Record, *, is_first: bool) -> Sequence[str]:
    """Return what stands above an item; what stands in there, at the beginning of a file, would be
    part of an item that is now before it."""
    above: list[str] = record.rest.get("above", [])
    start = next((line for line in above if line.strip()), "")
    return [line.lstrip() for line in above] if not is_first and start[:1].isspace() else above


def _is_same(record: Record, said: re.Match[str], name: str) -> bool:
    """Tell whether a line still says what it said."""
    there = unmarked(said[3])[0].strip()
    is_name = there in (name, record.name) or (not there and record.name == "…")
    return is_name and _DONE.get(said[2], Status.PENDING) is record.status
