"""Markdown check lists, and OpenSpec's `tasks.md`, which is one with numbered groups.

`- [ ] text` is a task, `- [x] text` a completed and `- [-] text` a cancelled one; what is indented
below is part of it, and lines without a box are its details. An item has no id there, so that its
words are its id, below the file and the headings that it stands under; OpenSpec's have numbers.
What stands between items is no task: it is kept with the one below it (`above`), after the last
with that one (`below`), so that an export writes it again.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from ...model import Status
from .record import Record, marked, unmarked

_ITEM = re.compile(r"^(\s*)(?:[-*+]|\d{1,9}[.)])\s+\[\s*([^\s\]]?)\s*\](?![(\[])\s*(.*)$")
_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*\s*$")
_FENCE = re.compile(r"^\s*(`{3,}(?=[^`]*$)|~{3,})")
_NUMBER = re.compile(r"^(\d+(?:\.\d+)+)\.?\s+")
_ESCAPED = re.compile(r"(?m)^(\s*(?:[-*+]|\d{1,9}[.)])\s+)\\\[")
_GROUP = re.compile(r"^(\d+)\.\s+")
_FIELDS = frozenset({"name", "details", "status", "subtask_of"})
_DONE = {"x": Status.COMPLETED, "X": Status.COMPLETED, "-": Status.CANCELLED}
_BOX = {Status.PENDING: " ", Status.COMPLETED: "x", Status.CANCELLED: "-"}


@dataclass(slots=True)
class _Item:
    depth: int
    record: Record
    above: list[str]
    line: str
    body: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)


class Checklist:
    name = "markdown"

    def read(self, files: Mapping[str, str]) -> list[Record]:
        return [one for path, content in files.items() for one in _read(content, _scope(path))]

    def write(self, records: Sequence[Record]) -> dict[str, str]:
        lines: list[str] = []
        heading = None
        known = {record.id for record in records}
        for record in records:
            if record.parent in known:
                continue
            above = record.rest.get("headings", [])
            if above != heading and (above or heading):
                heading = above
                if above and _title_in(record) != above[-1]:
                    level = record.rest.get("level", 2)
                    lines += ["", f"{'#' * level} {above[-1]}", ""]
            lines += _lines(record, records, 0)
        return {"": _joined(lines)}

    def new_id(self, number: int, task_id: str) -> str:
        return task_id


class OpenSpec:
    """`tasks.md` of a change: each group `## 1. Name` is a task, its items are parts of it."""

    name = "openspec"

    def read(self, files: Mapping[str, str]) -> list[Record]:
        found: list[Record] = []
        for path, content in files.items():
            found += _grouped(_read(content, _change(path)), _change(path))
        return found

    def write(self, records: Sequence[Record]) -> dict[str, str]:
        known = {record.id: record for record in records}
        changes: dict[str, list[Record]] = {}
        for record in records:
            if record.parent not in known:
                changes.setdefault(record.id.partition("/")[0], []).append(record)
        files = {
            f"{change}/tasks.md": _groups(tops, records) for change, tops in sorted(changes.items())
        }
        return {"": next(iter(files.values()))} if len(files) == 1 else files

    def new_id(self, number: int, task_id: str) -> str:
        return f"tasky/{task_id}"


def _scope(path: str) -> str:
    return PurePosixPath(path).stem


def _change(path: str) -> str:
    parts = PurePosixPath(path).parts
    return parts[-2] if len(parts) > 1 else PurePosixPath(path).stem


def _read(content: str, scope: str) -> list[Record]:
    headings: list[tuple[int, str]] = []
    open_items: list[_Item] = []
    found: list[_Item] = []
    between: list[str] = []
    closing: re.Pattern[str] | None = None
    for line in content.replace("\r\n", "\n").removesuffix("\n").split("\n"):
        is_plain = closing is not None
        if closing is not None:
            closing = None if closing.search(line) else closing
        elif fence := _FENCE.match(line):
            is_plain, closing = True, re.compile(rf"^\s*{fence[1]}{fence[1][0]}*\s*$")
        elif line.lstrip().startswith("<!--"):
            is_plain, closing = True, None if "-->" in line else re.compile("-->")
        if title := None if is_plain else _HEADING.match(line):
            level = len(title[1])
            headings = [*((n, t) for n, t in headings if n < level), (level, title[2])]
            open_items = []
            between.append(line)
        elif item := None if is_plain else _ITEM.match(line):
            depth = len(item[1].expandtabs(4))
            open_items = [one for one in open_items if one.depth < depth]
            parent = open_items[-1].record.id if open_items else None
            name, own = unmarked(item[3])
            above = [text for _, text in headings]
            words = "/".join([scope, *(above if parent is None else [parent]), name])
            number = _NUMBER.match(name)
            rest: dict[str, Any] = {"headings": above, "level": headings[-1][0] if headings else 0}
            if number:
                rest["number"], name = number[1], name[number.end() :]
            record = Record(
                id=f"{scope}/{number[1]}" if number else words,
                name=name.strip() or "…",
                status=_DONE.get(item[2], Status.PENDING),
                parent=parent,
                rest=rest,
                task_id=own,
                fields=_FIELDS,
            )
            if found:
                between = [*_blank_end(found[-1].body), *between]
            open_items.append(_Item(depth, record, between, line))
            found.append(open_items[-1])
            between = []
        elif open_items and (not line.strip() or line.startswith((" ", "\t"))):
            open_items[-1].body.append(line)
        else:
            open_items = [] if line.strip() else open_items
            between.append(line)
    if found:
        found[-1].below = [*_blank_end(found[-1].body), *between]
    return [_whole(one) for one in found]


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
    return replace(item.record, details=_body(item.body), rest=rest)


def _title_in(record: Record) -> str | None:
    """Return the last heading of what stands above an item."""
    titles = [found[2] for one in record.rest.get("above", ()) if (found := _HEADING.match(one))]
    return titles[-1] if titles else None


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines).lstrip("\n") + "\n"


def _no_item(line: str) -> str:
    """Return a line of a task's details that is not read as a task of its own."""
    return line.replace("[", "\\[", 1) if _ITEM.match(line) else line


def _body(lines: list[str]) -> str:
    text = _ESCAPED.sub(r"\1[", "\n".join(lines)).strip("\n")
    indents = [len(line) - len(line.lstrip()) for line in text.split("\n") if line.strip()]
    least = min(indents, default=0)
    return "\n".join(line[least:] for line in text.split("\n")).strip("\n")


def _lines(record: Record, records: Sequence[Record], depth: int) -> list[str]:
    indent = "  " * depth
    number = record.rest.get("number")
    name = f"{number} {record.name}" if number else record.name
    if set(record.rest) <= {"number"}:  # it did not come from such a list
        name = marked(name, record)
    said = _ITEM.match(record.rest.get("line", ""))
    if said and (said[1] or depth == 0):
        indent = said[1]
    lines = [*record.rest.get("above", ())]
    lines.append(record.rest["line"] if said and _is_same(record, said, name) else
                 f"{indent}- [{_BOX[record.status]}] {name}")  # fmt: skip
    body = record.rest.get("body", [])
    if _body(body) != record.details:
        body = record.details.split("\n") if record.details else []
        body = [f"{indent}  {_no_item(line)}".rstrip() for line in body]
    lines += body
    for part in records:
        if part.parent == record.id:
            lines += _lines(part, records, depth + 1)
    return [*lines, *record.rest.get("below", ())]


def _is_same(record: Record, said: re.Match[str], name: str) -> bool:
    """Tell whether a line still says what it said."""
    there = unmarked(said[3])[0].strip()
    is_name = there in (name, record.name) or (not there and record.name == "…")
    return is_name and _DONE.get(said[2], Status.PENDING) is record.status


def _grouped(records: list[Record], change: str) -> list[Record]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        if record.parent is None and record.rest["headings"]:
            groups.setdefault(record.rest["headings"][-1], []).append(record)
    found: list[Record] = []
    parents: dict[str, str] = {}
    for title, items in groups.items():
        is_done = all(one.status is not Status.PENDING for one in items)
        name, own = unmarked(title)
        number = _GROUP.match(name)
        rest = {"group": True} | ({"number": number[1]} if number else {})
        group = Record(
            id=f"{change}/## {name}",
            name=name[number.end() :] if number else name,
            status=Status.COMPLETED if is_done else Status.PENDING,
            tags=(change,),
            rest=rest,
            task_id=own,
            fields=_FIELDS - {"status", "details", "subtask_of"},
        )
        found.append(group)
        parents |= {one.id: group.id for one in items}
    return found + [
        replace(one, parent=one.parent or parents.get(one.id), tags=(change,)) for one in records
    ]


def _groups(tops: list[Record], records: Sequence[Record]) -> str:
    """Return a file: what has no parts stands first, under no heading, what has is a group."""
    parts: dict[str, list[Record]] = {top.id: [] for top in tops}
    for record in records:
        if record.parent in parts:
            parts[record.parent].append(record)
    groups = [top for top in tops if top.rest.get("group") or (parts[top.id] and not top.rest)]
    lines = [line for top in tops if top not in groups for line in _lines(top, records, 0)]
    count = _greatest(groups)
    for group in groups:
        number = group.rest.get("number")
        if not group.rest:
            count += 1
            number = str(count)
        title = f"{number}. {group.name}" if number else group.name
        shown_title = title if group.rest else marked(title, group)
        items = [*parts[group.id]]
        if items and _title_in(items[0]) is not None:
            items[0] = _titled(items[0], shown_title)
        else:
            lines += ["", f"## {shown_title}", ""]
        last = _greatest(items)
        for part in items:
            shown = part
            if number and not part.rest:
                last += 1
                shown = replace(part, rest={"number": f"{number}.{last}"})
            lines += _lines(shown, records, 0)
    return _joined(lines)


def _titled(record: Record, title: str) -> Record:
    """Return an item below a heading that says so."""
    above = [*record.rest["above"]]
    last = max(n for n, line in enumerate(above) if _HEADING.match(line))
    found = _HEADING.match(above[last])
    if found and found[2] != title:
        above[last] = f"{found[1]} {title}"
    return replace(record, rest={**record.rest, "above": above})


def _greatest(records: Sequence[Record]) -> int:
    """Return the greatest number that one of these has, without those of its group."""
    numbers = [str(one.rest["number"]) for one in records if "number" in one.rest]
    return max((int(one.rpartition(".")[2]) for one in numbers), default=0)
