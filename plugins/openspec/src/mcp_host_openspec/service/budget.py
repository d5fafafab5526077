"""Answers that a model can take: at most so many characters, with a way to the rest.

What fits stays as it is. What does not is given in pages, each with the cursor of the next, or with
a share of each text and a mark that says how to read on.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..errors import OpenSpecError

Answer = dict[str, Any]

BUDGET: Final = 20_000
"""The most characters of JSON that a tool answers unless asked for more."""

_ROOM: Final = BUDGET - 600
"""What an answer may hold beside the marks."""
_SHORTEST: Final = 120
"""A text is never cut below this."""


class Page(NamedTuple):
    """A part of a text or of a list, and where the next one begins."""

    content: Any
    total: int
    next_cursor: str | None


def size(data: object) -> int:
    """How many characters the data have as JSON."""
    return len(json.dumps(data, ensure_ascii=False))


def fits(data: object) -> bool:
    """Whether the data are within the budget."""
    return size(data) <= _ROOM


def offset(cursor: str | None) -> int:
    """Where a page begins; an error for a cursor that no answer gave."""
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdecimal()):
        raise OpenSpecError(
            "cursor must be one that an answer gave as next_cursor.",
            suggestions=["Leave it out to begin at the first page."],
        )
    return int(cursor)


def text_page(text: str, cursor: str | None, room: int = _ROOM - 1000) -> Page:
    """The part of a text that begins at the cursor, cut at the end of a line where there is one."""
    begin = min(offset(cursor), len(text))
    end = _cut(text, begin, room)
    return Page(text[begin:end], len(text), str(end) if end < len(text) else None)


def list_page(
    rows: Sequence[Any], cursor: str | None, *, limit: int | None = None, room: int = _ROOM
) -> Page:
    """The rows from the cursor on, as many as there is room for; one at least, cut if need be."""
    begin = min(offset(cursor), len(rows))
    shown: list[Any] = []
    for row in rows[begin : None if limit is None else begin + limit]:
        cost = size(row) + 2
        if cost > room and shown:
            break
        shown.append(row if cost <= room else within(row, room))
        room -= cost
    end = begin + len(shown)
    return Page(shown, len(rows), str(end) if end < len(rows) else None)


def paged(
    answer: Mapping[str, Any],
    keys: Sequence[str],
    *,
    cursor: str | None = None,
    limit: int | None = None,
) -> Answer:
    """An answer with one page of the rows that its lists hold, the lists in the order given.

    Where that is not all, it says so: `truncated`, `total` rows, and `next_cursor`.
    """
    if cursor is None and limit is None and fits(answer):
        return dict(answer)
    rows = [(key, row) for key in keys for row in answer.get(key, ())]
    empty: Answer = {key: [] if key in keys else value for key, value in answer.items()}
    page = list_page(rows, cursor, limit=limit, room=_ROOM - size(empty))
    for key, row in page.content:
        empty[key].append(row)
    if page.next_cursor is None:
        return empty
    return {**empty, "truncated": True, "total": page.total, "next_cursor": page.next_cursor}


def shared_out(texts: Mapping[str, str], room: int) -> dict[str, str]:
    """Texts cut so that all have room: the short ones whole, the long ones to one length."""
    low, high = _SHORTEST, max(map(len, texts.values()), default=0)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(size(text[:middle]) for text in texts.values()) <= room:
            low = middle
        else:
            high = middle - 1
    return {key: text[: _cut(text, 0, low)] for key, text in texts.items()}


def within(data: Any, room: int = _ROOM) -> Any:
    """The data with their long texts, and if need be their long lists, cut to fit."""
    if size(data) <= room:
        return data
    shortest = _shortened(data, _SHORTEST, None)
    if size(shortest) <= room:
        return _shortened(data, _largest(lambda n: _shortened(data, n, None), room), None)
    return _shortened(
        data, _SHORTEST, _largest(lambda n: _shortened(data, _SHORTEST, n), room, low=1)
    )


def _largest(made: Any, room: int, low: int = _SHORTEST) -> int:
    """The largest number for which what is made of it fits."""
    high = room
    while low < high:
        middle = (low + high + 1) // 2
        if size(made(middle)) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _shortened(data: Any, longest: int, most: int | None) -> Any:
    if isinstance(data, str):
        if len(data) <= longest + _SHORTEST // 2:
            return data
        return f"{data[:longest]}… ({len(data) - longest:,} characters more)"
    if isinstance(data, dict):
        return {key: _shortened(value, longest, most) for key, value in data.items()}
    if isinstance(data, list | tuple):
        kept = data if most is None else data[:most]
        return [_shortened(value, longest, most) for value in kept]
    return data


def _cut(text: str, begin: int, room: int) -> int:
    """Where a part of the text that begins here and fits in the room ends."""
    end = min(len(text), begin + room)
    while size(text[begin:end]) > room + 2 and end > begin + _SHORTEST:
        end -= max(1, (size(text[begin:end]) - room) // 2)
    if end == len(text):
        return end
    line = text.rfind("\n", begin + (end - begin) // 2, end)
    return end if line < 0 else line + 1
