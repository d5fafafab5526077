"""Makes plain, bounded data of what a pack made; runs on the pack's side, in its own time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from math import isfinite
from typing import Any

from pydantic_core import to_jsonable_python

from ..declarations.content import Result
from ..packs.words import cut as cut, text as text, trace as trace
from .messages import ENTRIES

LARGEST_DETAILS = 64 * 1024
"""Bytes of an error's details, roughly; what goes beyond is left out."""
DEEPEST = 50


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


def least_bytes(value: object, limit: int) -> tuple[int, bool]:
    """Return how many bytes a value takes as JSON at the least, and whether iterators are in it.

    Looks into what is data, no further than `limit` bytes, and runs no code of it.
    """
    least, has_iterators = 0, False
    opaque = set(_SCALARS)  # kinds without anything to look into, of which there may be many
    waiting: list[Any] = [(value,)]
    while waiting and least <= limit:
        items = waiting.pop()
        kinds = set(map(type, items))
        if kinds <= opaque:
            continue
        if kinds == _TEXTS:
            least += sum(map(len, items))
            continue
        for one in items:
            kind = type(one)
            if kind is str or kind is bytes:
                least += len(one)
            elif kind in opaque:
                continue
            elif kind is dict:
                least += 4 * len(one)
                waiting.append(one.values())
            elif kind in _ARRAYS:
                least += 2 * len(one)
                waiting.append(one)
            elif isinstance(one, str | bytes | dict | list):  # of a class of the pack
                plain: Any = next(k for k in (str, bytes, dict, list) if issubclass(kind, k))
                least += plain.__len__(one)
            elif isinstance(one, Iterator):
                has_iterators = True
            elif type(fields := getattr(one, "__dict__", None)) is dict:
                waiting.append(fields.values())
            else:
                opaque.add(kind)
                if opaque.issuperset(map(type, items)):  # as most lists have one kind
                    break
            if least > limit:
                break
    return least, has_iterators


def holds_itself(value: object) -> bool:
    """Return whether plain data is in itself, at any depth."""
    around: set[int] = set()
    looked_at: set[int] = set()
    waiting: list[tuple[Any, bool]] = [(value, False)]
    while waiting:
        one, is_over = waiting.pop()
        if is_over:
            around.discard(id(one))
            continue
        if id(one) in around:
            return True
        if (type(one) is not dict and type(one) not in _ARRAYS) or id(one) in looked_at:
            continue
        looked_at.add(id(one))
        around.add(id(one))
        waiting.append((one, True))
        waiting.extend((item, False) for item in (one.values() if type(one) is dict else one))
    return False


def listed(value: Any, limit: int) -> Any:
    """Return data with a list in place of each iterator, of more than `limit` items the first."""
    if isinstance(value, Iterator):
        value = list(islice(value, limit // 2 + 1))  # an item takes two bytes at the least
    kind = type(value)
    if kind is dict:
        return {key: listed(item, limit) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [v if type(v) in _SCALARS else listed(v, limit) for v in value]
    if isinstance(value, Result):
        return replace(value, structured=listed(value.structured, limit))
    return value


_TEXTS = frozenset((str,))
_SCALARS = frozenset((int, float, bool, type(None)))
_ARRAYS = frozenset((list, tuple, set, frozenset))


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
