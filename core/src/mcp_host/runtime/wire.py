"""Whether an answer is already what the protocol's own models would make of it.

The SDK sieves every result: it refuses values of a wrong type, and drops fields and nulls that the
protocol does not know. Here it is known, without the SDK, that it would change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..startup.protocol import META

_TEXT: Mapping[str, frozenset[str]] = {
    "text": frozenset({"text"}),
    "image": frozenset({"data", "mimeType"}),
    "audio": frozenset({"data", "mimeType"}),
    "resource_link": frozenset({"uri", "name", "mimeType", "description"}),
}
"""Each kind of content by its `type`, with the texts that may stand in it."""
_NEEDED: Mapping[str, frozenset[str]] = {**_TEXT, "resource_link": frozenset({"uri", "name"})}
_TEXTS = frozenset((str,))
_BODIES = (frozenset({"uri", "mimeType", "text"}), frozenset({"uri", "mimeType", "blob"}))


def is_wire(answer: Mapping[str, Any], meta: object) -> bool:
    """Whether an answer without its `_meta`, and that, pass the SDK's sieve unchanged.

    False where it is not known.
    """
    if meta != {} and not _is_meta(meta):
        return False
    for key, value in answer.items():
        fits = _FIELDS.get(key)
        if fits is None or not fits(value):
            return False
    return True


def _are_parts(value: object) -> bool:
    return type(value) is list and all(map(_is_part, value))


def _is_part(part: object) -> bool:
    if type(part) is not dict:
        return False
    kind = part.get("type")
    if kind == "text" and len(part) == 2:  # most answers
        return type(part.get("text")) is str
    if kind == "resource":
        return part.keys() == {"type", "resource"} and _is_contents(part["resource"])
    keys = part.keys() - {"type", "_meta"}
    return (
        type(kind) is str
        and kind in _TEXT
        and _NEEDED[kind] <= keys <= _TEXT[kind]
        and all(type(part[key]) is str for key in keys)
        and _is_meta(part.get("_meta", {}))
    )


def _are_contents(value: object) -> bool:
    return type(value) is list and all(map(_is_contents, value))


def _is_contents(part: object) -> bool:
    if type(part) is not dict:
        return False
    keys = part.keys() - {"_meta"}
    return (
        keys in _BODIES
        and all(type(part[key]) is str for key in keys)
        and _is_meta(part.get("_meta", {}))
    )


def _are_messages(value: object) -> bool:
    return type(value) is list and all(map(_is_message, value))


def _is_message(value: object) -> bool:
    return (
        type(value) is dict
        and value.keys() == {"role", "content"}
        and value["role"] in ("user", "assistant")
        and _is_part(value["content"])
    )


def _is_meta(meta: object) -> bool:
    """Whether nothing of it is the protocol's own, and nothing would be dropped."""
    if type(meta) is not dict:
        return False
    for key, value in meta.items():
        if type(key) is not str or value is None or key.startswith(META):
            return False
    return True


def _is_table(value: object) -> bool:
    return type(value) is dict and _TEXTS.issuperset(map(type, value))


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


_FIELDS: Mapping[str, Callable[[object], bool]] = {
    "content": _are_parts,
    "structuredContent": _is_table,
    "isError": lambda value: type(value) is bool,
    "contents": _are_contents,
    "ttlMs": _is_count,
    "cacheScope": lambda value: value in ("public", "private"),
    "messages": _are_messages,
    "description": lambda value: type(value) is str,
}
"""The fields of the three kinds of result, each with what it must be."""
