"""The fields of a list's entry, each as the protocol has it: one that is not breaks the whole list.

A client that meets one field of a wrong type refuses the list, with the entries of every pack.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Fits = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


def _is_size(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_share(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1


def _are_icons(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, dict) and isinstance(one.get("src"), str) and one == fitting(one, ICON)[0]
        for one in value
    )


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_roles(value: Any) -> bool:
    return isinstance(value, list) and all(one in ("user", "assistant") for one in value)


ICON: Mapping[str, Fits] = {
    "mimeType": _is_text,
    "sizes": _are_texts,
    "theme": lambda value: value in ("light", "dark"),
}
_EVERY: Mapping[str, Fits] = {
    "title": _is_text,
    "description": _is_text,
    "icons": _are_icons,
    "_meta": _is_table,
    "annotations": _is_table,
}
TOOL: Mapping[str, Fits] = _EVERY
PROMPT: Mapping[str, Fits] = {**_EVERY, "arguments": lambda value: isinstance(value, list)}
RESOURCE: Mapping[str, Fits] = {**_EVERY, "mimeType": _is_text, "size": _is_size}
HINTS: Mapping[str, Fits] = {
    "title": _is_text,
    **{
        f"{word}Hint": lambda value: isinstance(value, bool)
        for word in ("readOnly", "destructive", "idempotent", "openWorld")
    },
}
"""The annotations of a tool that the protocol has."""
ANNOTATIONS: Mapping[str, Fits] = {
    "audience": _are_roles,
    "priority": _is_share,
    "lastModified": _is_text,
}
ARGUMENT: Mapping[str, Fits] = {
    "title": _is_text,
    "description": _is_text,
    "required": lambda value: isinstance(value, bool),
}


def fitting(
    entry: Mapping[str, Any], fields: Mapping[str, Fits]
) -> tuple[dict[str, Any], list[str]]:
    """Return an entry without the fields that are none, and the names of those left out.

    Fields that are null are left out without a word: many servers write what they lack so.
    """
    made, left_out = {}, []
    for key, value in entry.items():
        fits = fields.get(key)
        if fits is None or fits(value):
            made[key] = value
        elif value is not None:
            left_out.append(key)
    return made, left_out
