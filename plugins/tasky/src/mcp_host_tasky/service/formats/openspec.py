"""OpenSpec's `tasks.md` of a change: each group `## 1. Name` is a task, its items are parts of it,
and the text between a group's heading and its first item is its details."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from ...model import Status
from .checklists import (
    FIELDS,
    HEADING,
    Changes,
    Writing,
    headings_in,
    joined,
    parts_of,
    read_items,
    title_in,
    with_ids,
    write_item,
)
from .details import moved_details, read_details, written_details
from .record import Record, marked, told, unmarked

_GROUP = re.compile(r"^(\d+)\.\s+")
_INDENT = 2


@dataclass(frozen=True, slots=True)
class OpenSpec:
    """`target` is the file that a change is written to, None for the one that it came from."""

    name = "openspec"
    target: str | None = None

    def read(self, files: Mapping[str, str]) -> list[Record]:
        return [one for path, text in files.items() for one in _read(text, _change(path))]

    def write(self, records: Sequence[Record]) -> dict[str, str]:
        known = {record.id for record in records}
        changes: dict[str, list[Record]] = {}
        for record in records:
            if record.parent not in known:
                changes.setdefault(record.id.partition("/")[0], []).append(record)
        files = {}
        for change, tops in sorted(changes.items()):
            path = f"{change}/tasks.md"
            place = _change(self.target) if self.target and len(changes) == 1 else change
            files[path] = _written(self.name, tops, records, place)
        return {"": next(iter(files.values()))} if len(files) == 1 else files

    def new_id(self, number: int, task_id: str) -> str:
        return f"tasky/{task_id}"


def _change(path: str) -> str:
    parts = PurePosixPath(path).parts
    return parts[-2] if len(parts) > 1 else PurePosixPath(path).stem


def _read(content: str, change: str) -> list[Record]:
    records = read_items(content, change)
    groups: dict[str, list[Record]] = {}
    titles: dict[str, str] = {}
    places: list[str | None] = []
    for record in records:
        place = None
        if record.parent is None and record.rest["headings"]:
            place = _place(record.rest["headings"][-1], titles)
            groups.setdefault(place, []).append(record)
        places.append(place)
    seen: Counter[str] = Counter()
    made = {place: _group(place, items, change, seen) for place, items in groups.items()}
    parts = [
        replace(one, parent=one.parent or (made[place].id if place else None), tags=(change,))
        for one, place in zip(records, places, strict=True)
    ]
    return [*made.values(), *parts]


def _place(title: str, titles: dict[str, str]) -> str:
    """Return the title that stands for a group: headings that say the same are one, unless they
    have other ids of ours."""
    name, own = unmarked(title)
    if own is None:
        return titles.setdefault(name, title)
    titles[name] = title
    return title


def _group(title: str, items: Sequence[Record], change: str, seen: Counter[str]) -> Record:
    is_done = all(one.status is not Status.PENDING for one in items)
    name, own = unmarked(title)
    number = _GROUP.match(name)
    details = _text_below(items[0])
    rest: dict[str, Any] = {"group": True} | ({"number": number[1]} if number else {})
    return Record(
        id=told(f"{change}/## {name}", seen),
        name=name[number.end() :] if number else name,
        details=details,
        status=Status.COMPLETED if is_done else Status.PENDING,
        tags=(change,),
        rest=rest | ({"has_text": True} if details else {}),
        task_id=own,
        fields=FIELDS - {"status", "subtask_of"},
        place=change,
    )


def _text_below(item: Record) -> str:
    """Return the text between a group's heading and its first item."""
    if title_in(item) is None:
        return ""
    above, at = item.rest["above"], headings_in(item)[-1]
    is_ours = unmarked(above[at])[1] is not None
    return read_details(above[at + 1 :], _INDENT if is_ours else None)


def _written(form: str, tops: list[Record], records: Sequence[Record], change: str) -> str:
    def written(changes: Changes) -> tuple[str, list[Record]]:
        return _groups(tops, records, changes)

    return with_ids(form, written, lambda text: _read(text, change))


def _groups(
    tops: list[Record], records: Sequence[Record], changes: Changes
) -> tuple[str, list[Record]]:
    """Return a file: what has no parts stands first, under no heading, what has is a group."""
    writing = Writing(parts_of(records), changes)
    parts = writing.parts
    groups = [top for top in tops if top.id in parts and (top.rest.get("group") or not top.rest)]
    grouped = {group.id for group in groups}
    for top in tops:
        if top.id not in grouped:
            write_item(writing, _without_heading(top), "")
    count = _greatest(groups)
    for group in groups:
        number = group.rest.get("number")
        if not group.rest:
            count += 1
            number = str(count)
        _write_group(writing, group, number)
    return joined(writing.lines, _all(tops, parts)), [*groups, *writing.order]


def _all(tops: Sequence[Record], parts: Mapping[str, Sequence[Record]]) -> list[Record]:
    """Return the tasks of a change with their parts."""
    return [one for top in tops for one in (top, *_all(parts.get(top.id, ()), parts))]


def _without_heading(top: Record) -> Record:
    """Return a task that is no group, and stands in none, as an item under no heading."""
    if top.rest.get("group"):
        return replace(top, rest={})
    found = headings_in(top)
    return replace(top, rest={**top.rest, "above": top.rest["above"][: found[0]]}) if found else top


def _write_group(writing: Writing, group: Record, number: str | None) -> None:
    title = f"{number}. {group.name}" if number else group.name
    items = [*writing.parts[group.id]]
    is_marked = group.id in writing.changes.marked
    if title_in(items[0]) is not None:
        items[0] = _titled(items[0], group, title, is_marked)
    else:
        heading = f"## {marked(title, group) if is_marked else title}"
        text = written_details(group.details, "")
        writing.lines += ["", heading, "", *text, *([""] if text else [])]
        items[0] = _text_after(items[0])
    last = _greatest(items)
    for position, part in enumerate(items):
        shown = part
        if number and not part.rest:
            last += 1
            shown = replace(part, rest={"number": f"{number}.{last}"})
        if position and title_in(part) is not None:
            shown = _again_titled(part, group, title)
        write_item(writing, shown, "")


def _text_after(item: Record) -> Record:
    """Return an item that has become the first of its group, with the text that stood above it
    below it: it would be taken for the group's."""
    above = item.rest.get("above", [])
    if not any(line.strip() for line in above):
        return item
    below = [*above, *item.rest.get("below", [])]
    return replace(item, rest={**item.rest, "above": [], "below": below})


def _again_titled(item: Record, group: Record, title: str) -> Record:
    """Return a further item of a group that has a heading above it: the group's once more, or that
    of the group that the item stood in before."""
    was = group.id.partition("/## ")[2]
    if unmarked(title_in(item) or "")[0] != was:
        return _without_heading(item)
    above, at = [*item.rest["above"]], headings_in(item)[-1]
    found = HEADING.match(above[at])
    if found and was != title:
        above[at] = f"{found[1]} {title}"
    return replace(item, rest={**item.rest, "above": above})


def _titled(item: Record, group: Record, title: str, is_marked: bool) -> Record:
    """Return a group's first item below the heading, and the text, that the group has now."""
    above, at = [*item.rest["above"]], headings_in(item)[-1]
    found = HEADING.match(above[at])
    there, own = unmarked(found[2]) if found else ("", None)
    text = above[at + 1 :]
    said = _text_below(item)
    details = group.details
    if said and not group.rest.get("has_text"):
        # It was kept with the item alone, before groups had details.
        details = "\n\n".join(filter(None, (said, details)))
    if found and (there != title or (is_marked and own is None)):
        is_marked = is_marked or own is not None
        above[at] = f"{found[1]} {marked(title, group) if is_marked else title}"
    if details != said:
        body = written_details(details, "")
        text = ["", *body, ""] if body else [""]
    elif is_marked and own is None:
        text = moved_details(text, " " * _INDENT)
    return replace(item, rest={**item.rest, "above": [*above[: at + 1], *text]})


def _greatest(records: Sequence[Record]) -> int:
    """Return the greatest number that one of these has, without those of its group."""
    numbers = [str(one.rest["number"]) for one in records if "number" in one.rest]
    return max((int(one.rpartition(".")[2]) for one in numbers), default=0)
