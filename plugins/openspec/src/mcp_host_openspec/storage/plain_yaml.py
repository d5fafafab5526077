"""YAML files as most of them are: keys with short words, and comments.

A tree has one such file for every change. The library needs a thousand times as long to read one,
and is imported for what is not as plain as that.
"""

from typing import Any, Final

from ..model.text import pattern

_ENTRY: Final = pattern(r"([A-Za-z][A-Za-z_]*): ([A-Za-z][A-Za-z_-]*|\d{4}-\d\d-\d\d)")
_BOOLEANS: Final = {"true": True, "True": True, "TRUE": True} | dict.fromkeys(
    ("false", "False", "FALSE"), False
)
_NOT_TEXT: Final = frozenset((*_BOOLEANS, "null", "Null", "NULL"))


def load(text: str) -> Any:
    """Read one YAML document; None for an empty one. InvalidYamlError where it is not YAML."""
    plain = _load_plain(text.removeprefix("\ufeff"))
    if plain is not None:
        return plain
    from .yaml12 import load as load_any

    return load_any(text)


def _load_plain(text: str) -> dict[str, object] | None:
    """The keys and values of a plain file; None for any other."""
    values: dict[str, object] = {}
    for line in text.split("\n"):
        if not line or (line[0] == "#" and line.isprintable()):
            continue
        entry = _ENTRY.fullmatch(line)
        if entry is None or entry[1] in values or entry[1] in _NOT_TEXT:
            return None
        value = entry[2]
        if value not in _NOT_TEXT:
            values[entry[1]] = value
        elif value in _BOOLEANS:
            values[entry[1]] = _BOOLEANS[value]
        else:
            return None
    return values or None
