"""Answers that a model can afford: lists are cut by item, long texts where they share the room."""

import json
from collections.abc import Sequence

from ..errors import Json
from .views import View, relation_names

BUDGET = 20_000
"""Characters of JSON that a list holds at most, unless all of it was asked for."""
_ROOM = BUDGET - 500
"""Characters of it for the rows; beside them stand how many there are, the cursor, and dates that
were understood."""
_LEAST = 200
_RELATED = 5


def size(value: Json) -> int:
    """Return how many characters the value takes as JSON without spaces."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def fitting(rows: Sequence[View]) -> int:
    """Return how many of the rows fit, at least one, with what stands beside them."""
    room = _ROOM
    for count, row in enumerate(rows):
        room -= size(row) + 1
        if room < 0:
            return max(1, count)
    return len(rows)


def fitted(views: list[View]) -> list[View]:
    """Return the tasks with their details cut, so that all fit; one task comes whole."""
    if len(views) < 2 or size(views) <= _ROOM:
        return views
    texts = sorted(len(str(view.get("details", ""))) for view in views)
    room = _ROOM - size(views) + sum(texts)
    most = _share(texts, room)
    while most >= _LEAST:
        cut = [_with_less_text(view, most) for view in views]
        if size(cut) <= _ROOM:
            return cut
        most = most * 4 // 5
    return _without_lists(views)


def _share(lengths: list[int], room: int) -> int:
    """Return how long a text may be when texts of these lengths, the shortest first, share a
    room: what short ones leave falls to the long ones."""
    for index, length in enumerate(lengths):
        share = room // (len(lengths) - index)
        if length > share:
            return share
        room -= length
    return lengths[-1] if lengths else 0


def _with_less_text(view: View, most: int) -> View:
    text = str(view.get("details", ""))
    if len(text) <= most:
        return view
    mark = f"… [cut: {len(text):,} characters in all; get this task alone, or with view full]"
    return {**view, "details": text[: max(0, most - len(mark))] + mark}


def _without_lists(views: list[View]) -> list[View]:
    """Return as many tasks as fit with short lists, and of the others the ids."""
    shown: list[View] = []
    rows = [_row(view) for view in views]
    room = _ROOM - size(rows)
    for view, row in zip(views, rows, strict=True):
        short = _with_less_text(view, _LEAST)
        for name in (*relation_names(), "notes", "history"):
            value = short.get(name)
            if isinstance(value, list) and len(value) > _RELATED:
                kept = value[-_RELATED:] if name == "notes" else value[:_RELATED]
                short = {f"{name}_total": len(value), **short, name: kept}
        more = size(short) - size(row)
        if more <= room:
            room -= more
            shown.append(short)
        else:
            shown.append(row)
    return shown


def _row(view: View) -> View:
    return {"task_id": view["task_id"], "cut": "get it alone"}
