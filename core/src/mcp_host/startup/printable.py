"""Texts of others as they may be printed: control characters are shown, and none is executed."""

from __future__ import annotations

_CONTROLS = (
    *range(0x20),
    *range(0x7F, 0xA0),  # with CSI, which some terminals take in one character
    *range(0x202A, 0x202F),  # these turn the direction of what follows
    *range(0x2066, 0x206A),
    0x2028,
    0x2029,
)
_SHOWN = {c: chr(c).encode("unicode_escape").decode() for c in _CONTROLS if chr(c) not in "\t\n"}
_SHOWN_IN_JSON = {c: f"\\u{c:04x}" for c in _SHOWN}


def shown(text: str) -> str:
    """The text with its control characters written out, as `\\x1b`; lines and tabs stay."""
    if text.isprintable():
        return text
    return text.replace("\r\n", "\n").translate(_SHOWN)


def shown_in_json(text: str) -> str:
    """JSON with the control characters in its strings written out as JSON does."""
    return text.translate(_SHOWN_IN_JSON)
