"""Where something stands in the settings file."""

from __future__ import annotations

from typing import TypeAlias

Keys: TypeAlias = tuple[str | int, ...]
"""The keys and indices that lead to a value."""


def dotted(keys: Keys) -> str:
    """The place as people write it: `http.tokens[0].token`."""
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text
