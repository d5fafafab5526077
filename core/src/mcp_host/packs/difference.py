"""How a pack differs from what was agreed to, in lines that hide nothing from a person."""

from __future__ import annotations

import difflib
import json
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from ..settings.locked import EntryKey, LockedPack
from ..startup.dataclass import dataclass

_BLANK = frozenset(
    (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, *range(0xFE00, 0xFE10))
)
"""Characters that show nothing although their category says otherwise."""
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))


@dataclass(frozen=True)
class Difference:
    """One entry that is not as it was agreed to; `what` is "changed", "new" or "gone"."""

    kind: str
    name: str
    what: str
    before: Any
    after: Any

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return dict(vars(self))

    def lines(self) -> Iterator[str]:
        """Give it line by line: what goes begins with -, what comes with +."""
        yield f"{self.kind} {visible(self.name)}".strip() + f": {self.what}"
        before = [] if self.what == "new" else list(_lines(self.before))
        after = [] if self.what == "gone" else list(_lines(self.after))
        for line in list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]:
            if not line.startswith("@@"):
                yield f"  {line[0]} {line[1:]}"


def differences(locked: LockedPack | None, now: LockedPack) -> list[Difference]:
    """Return what a pack has that is not as it was agreed to, in the order of names."""
    before: Mapping[EntryKey, Any] = {} if locked is None else locked.entries
    found = []
    for key in sorted({*before, *now.entries}):
        old, new = before.get(key), now.entries.get(key)
        if key not in before:
            found.append(Difference(*key, "new", None, new))
        elif key not in now.entries:
            found.append(Difference(*key, "gone", old, None))
        elif locked is not None and locked.fingerprints[key] != now.fingerprints[key]:
            found.append(Difference(*key, "changed", old, new))
    return found


def visible(text: str) -> str:
    """Return a text with everything that shows nothing, or turns a line, named in its place.

    Of white space, the plain blank stays; lines and tabs are written as `\\n` and `\\t`.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character == " ":
        return character
    if character in "\n\t\r":
        return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}[character]
    code, category = ord(character), unicodedata.category(character)
    hides = category in _HIDDEN or category == "Zs" or code in _BLANK or 0xE0000 <= code < 0xE1000
    if not hides:
        return character
    name = unicodedata.name(character, "")
    return f"<U+{code:04X}{' ' if name else ''}{name}>"


def _lines(value: Any, place: str = "") -> Iterator[str]:
    """Give plain data line by line, each with its place: texts of many lines as such."""
    if isinstance(value, Mapping) and value:
        for key in sorted(value, key=str):
            yield from _lines(value[key], f"{place}.{visible(str(key))}" if place else visible(key))
    elif isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value):
        for number, item in enumerate(value):
            yield from _lines(item, f"{place}[{number}]")
    elif isinstance(value, str):
        first, *rest = value.split("\n")
        yield f"{place}: {visible(first)}" if place else visible(first)
        yield from (f"{'.' * len(place)}| {visible(line)}" for line in rest)
    else:
        yield f"{place}: {visible(json.dumps(value, ensure_ascii=False))}"
