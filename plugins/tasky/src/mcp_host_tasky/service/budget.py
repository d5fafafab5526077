"""Answers that a model can afford: lists are cut by item, long texts where they share the room."""

import json
from collections.abc import Mapping, Sequence
from typing import cast

from ..errors import Json
from .views import View, relation_names, shortened

BUDGET = 20_000
"""Characters of JSON that a list holds at most, unless all of it was asked for."""
_ROOM = BUDGET - 500
"""Characters of it for the rows; beside them stand how many there are, the cursor, and dates that
were understood."""
_LEAST = 200
_RELATED = 5
_MARK = "get it alone"
_as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def size(value: Json) -> int:
    """Return how many characters the value takes as JSON without spaces."""
    return len(_as_json(value))


def fitting(rows: Sequence[View], beside: int = 0) -> int:
    """Return how many of the rows fit, at least one, with what stands beside them: so much more
    than the usual."""
    room = _ROOM - beside
    for count, row in enumerate(rows):
        room -= size(row) + 1
        if room < 0:
            return max(1, count)
    return len(rows)


def fitted(views: list[View], beside: int = 0, *, is_alone: bool | None = None) -> list[View]:
    """Return the tasks with their details cut, so that all fit, with so much beside them; one task
    that is alone comes whole."""
    if is_alone if is_alone is not None else len(views) < 2:
        return views
    most_in_all = _ROOM - beside
    whole = size(views)
    if whole <= most_in_all:
        return views
    texts = sorted(len(str(view.get("details", ""))) for view in views)
    room = most_in_all - whole + sum(texts)
    most = _share(texts, room)
    while most >= _LEAST:
        cut = [_with_less_text(view, most) for view in views]
        if size(cut) <= most_in_all:
            return cut
        most = most * 4 // 5
    return _without_lists(views, most_in_all)


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


def _without_lists(views: list[View], most_in_all: int) -> list[View]:
    """Return as many tasks as fit with short lists, and of the others what they are called, or
    only the ids; of those that nobody asked for by their id as many as fit."""
    shorts = [_with_short_lists(view) for view in views]
    for row_of in (_named_row, _row):
        rows = [row_of(view) for view in shorts]
        if size(rows) <= most_in_all // 2:
            break
    shown: list[View] = []
    room = most_in_all - size(rows)
    while room < 0 and "distance" in shorts[-1]:
        room += size(rows.pop()) + 1
        shorts.pop()
    for short, row in zip(shorts, rows, strict=True):
        more = size(short) - size(row)
        if more <= room:
            room -= more
            shown.append(short)
        else:
            shown.append(row)
    if len(shown) < len(views):
        shown[0] = {**shown[0], "related_cut_at": sum("distance" in view for view in shorts)}
    return shown


def _with_short_lists(view: View) -> View:
    short = _with_less_text(view, _LEAST)
    for name in (*relation_names(), "notes", "history"):
        value = short.get(name)
        if not isinstance(value, list):
            continue
        if len(value) > _RELATED:
            kept = value[-_RELATED:] if name == "notes" else value[:_RELATED]
            short = {f"{name}_total": len(value), **short, name: kept}
        if name in ("notes", "history"):
            short[name] = [_short(one) for one in cast(list[Json], short[name])]
    return short


def _short(value: Json) -> Json:
    """Return what a note or an event holds with its texts and lists cut."""
    if isinstance(value, str):
        return shortened(value)
    if isinstance(value, Mapping):
        return {key: _short(one) for key, one in value.items()}
    if isinstance(value, Sequence):
        kept = [_short(one) for one in value[:_RELATED]]
        return kept if len(kept) == len(value) else [*kept, f"… {len(value)} in all"]
    return value


def _named_row(view: View) -> View:
    kept = ("task_id", "name", "status", "distance")
    return {key: view[key] for key in kept if key in view} | {"cut": _MARK}


def _row(view: View) -> View:
    return {key: view[key] for key in ("task_id", "distance") if key in view} | {"cut": _MARK}
