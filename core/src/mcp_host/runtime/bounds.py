"""Makes plain, bounded data of what a pack made; runs on the pack's side, in its own time."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from itertools import islice
from math import isfinite
from typing import Any

from pydantic_core import to_jsonable_python

from .messages import ENTRIES, REASON_BYTES, TRACEBACK_BYTES

LARGEST_DETAILS = 64 * 1024
"""Bytes of an error's details, roughly; what goes beyond is left out."""
DEEPEST = 50
CAUSES = 5
FRAMES = 30


def text(value: object, limit: int = REASON_BYTES) -> str:
    """Return a value's text, cut to `limit` bytes of UTF-8; a value that has no text is named."""
    try:
        whole = str.__str__(value) if isinstance(value, str) else str(value)
        whole = str.__str__(whole)  # whatever subclass of str a pack may return
    except BaseException as error:
        return f"a {type(value).__name__} whose text cannot be had ({type(error).__name__})"
    return cut(whole, limit)


def cut(whole: str, limit: int = REASON_BYTES) -> str:
    """Return a text cut to `limit` bytes of UTF-8, with a mark where something was cut."""
    if len(whole) * 4 <= limit:
        return whole
    data = whole[: limit + 1].encode("utf-8", "backslashreplace")
    if len(whole) <= limit and len(data) <= limit:
        return whole
    return data[: limit - 3].decode("utf-8", "ignore") + "…"


def texts(values: Any) -> tuple[str, ...]:
    """Return the first texts of an iterable that may have no end; none where it has none."""
    try:
        return tuple(text(value) for value in islice(values or (), ENTRIES))
    except BaseException:
        return ()


def details(value: Any) -> dict[str, Any]:
    """Return an error's details as JSON data; empty where they are none."""
    if not value:
        return {}
    try:
        made = plain(value, LARGEST_DETAILS)
    except BaseException:
        return {}
    return made if isinstance(made, dict) else {}


def plain(value: object, limit: int) -> Any:
    """Return JSON data made of a value, as much as fits `limit` bytes; the rest is left out.

    What is neither data nor known to pydantic, such as an iterator, is named and not looked into.
    """
    return _Plain(limit).of(value, 0)


class _Plain:
    """Makes data of one value, within a budget of bytes."""

    def __init__(self, limit: int) -> None:
        self._left = limit

    def of(self, value: object, depth: int) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            made = cut(str.__str__(value), max(self._left, 16))
            self._left -= len(made)
            return made.encode("utf-8", "replace").decode()  # without lone surrogates
        if isinstance(value, int):
            self._left -= 8
            return int(value) if -(2**63) <= value < 2**64 else text(value)
        if isinstance(value, float):
            self._left -= 8
            return float(value) if isfinite(value) else None
        if depth > DEEPEST:
            return "…"
        if isinstance(value, dict):
            table: dict[str, Any] = {}
            for key, item in value.items():
                if self._left <= 0:
                    break
                self._left -= 4
                table[self.of(text(key, 256), depth)] = self.of(item, depth + 1)
            return table
        if isinstance(value, list | tuple | set | frozenset):
            items: list[Any] = []
            for item in value:
                if self._left <= 0:
                    break
                self._left -= 2
                items.append(self.of(item, depth + 1))
            return items
        if isinstance(value, Iterator):
            return text(type(value).__name__)
        return self.of(to_jsonable_python(value, fallback=text), depth + 1)


def trace(raised: BaseException) -> str:
    """Return the traceback of an exception and its nearest causes, within bounds."""
    parts: list[str] = []
    error: BaseException | None = raised
    for _ in range(CAUSES):
        if error is None:
            break
        frames = "".join(traceback.format_tb(error.__traceback__, -FRAMES))
        parts.append(f"{frames}{type(error).__qualname__}: {text(error)}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return cut("\n\nbecause of\n\n".join(parts), TRACEBACK_BYTES)
