"""Which tasks have the words that many have: a bitmap of each such word, and of each beginning.

An index of words takes as long as its lists are: to intersect those of words that every tenth task
has, or to unite those of a thousand words that begin alike, takes longer than an answer may. A
bitmap has one bit for each task: those of a million tasks are intersected in some microseconds, and
unpacked before that in a millisecond each.

They are made when nobody writes (see `bitmap_making`), and what is written since stands in the
table `reworded`: there is every task of which no bitmap is right. Such tasks are compared by their
texts, so that all who search find the same as the index of words does.
"""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

import re
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Protocol

from .needles import fits

PART = 65_536
"""A row of a bitmap is of so many tasks: those whose numbers begin alike."""
REWORDED = 4_000
"""Up to so many tasks are compared by their texts; where more are, no bitmap is used."""
NO_WORD = ""
"""The word of a row that says only that bitmaps of a part were made."""
UNREADABLE = (zlib.error, TypeError)
"""What is raised where a row is damaged."""
_TOGETHER = 1_000
_ONE = re.compile(b"1")


class BitmapView(Protocol):
    """What this room needs of a view of the store."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...

    def among(self, values: Collection[Any]) -> tuple[str, Any]: ...

    def texts(self, numbers: Collection[int]) -> dict[int, str]: ...

    def kept_texts(self, stamps: Mapping[int, int]) -> Mapping[int, str]: ...


class KeptTexts:
    """The texts of tasks that were reworded, as a store remembers them for its views: to read some
    thousands takes longer than most searches do.

    Invariants: each stands beside its stamp, which no other text has.
    """

    def __init__(self) -> None:
        self._kept: dict[int, tuple[int, str]] = {}

    def of(self, view: BitmapView, stamps: Mapping[int, int]) -> dict[int, str]:
        """Return the texts of these tasks: nothing of those that are gone."""
        kept = self._kept
        missing = [one for one, stamp in stamps.items() if kept.get(one, (None,))[0] != stamp]
        for start in range(0, len(missing), _TOGETHER):
            some = missing[start : start + _TOGETHER]
            texts = view.texts(some)
            kept = kept | {one: (stamps[one], texts.get(one, "")) for one in some}
        found = {one: kept[one] for one in stamps}
        self._kept = found if len(kept) > 2 * REWORDED else kept
        return {one: text for one, (_, text) in found.items()}


class Having:
    """Tasks that have something. Invariants: it never changes."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self.count = bits.bit_count()
        """How many they are."""

    @classmethod
    def of(cls, numbers: Iterable[int]) -> "Having":
        """Return those with these numbers."""
        return cls(bits_of(numbers))

    def since(self, number: int) -> "Having":
        """Return those from a number on."""
        return Having(self._bits >> number << number) if number else self

    def among(self, numbers: Iterable[int]) -> list[int]:
        """Return those of some tasks that are of these."""
        packed = self.packed()
        end = 8 * len(packed)
        return [one for one in numbers if one < end and packed[one >> 3] >> (one & 7) & 1]

    def numbers(self, most: int | None = None) -> list[int]:
        """Return the numbers of the first of them, or of all, in order."""
        return [one.start() for one in islice(_ONE.finditer(self.flags), most)]

    def some(self, count: int) -> list[int]:
        """Return the numbers of so many of them at most, from all over the plan."""
        size = len(self.flags)
        found = {self.flags.find(b"1", size * at // count) for at in range(count)}
        return sorted(found - {-1})

    def packed(self, last: int = 0) -> bytes:
        """Return a bit for each number, at least up to one, the lowest bit of a byte first."""
        return self._bits.to_bytes(max(self._bits.bit_length(), last + 1) // 8 + 1, "little")

    @cached_property
    def flags(self) -> bytes:
        """A byte for each number: the digit 1 for one that is of these, else 0."""
        return f"{self._bits:b}"[::-1].encode()


def having(view: BitmapView, needles: Sequence[str]) -> tuple[Having | None, list[str]] | None:
    """Return the tasks that have all of what is looked for that there are bitmaps of, or None where
    there are none of any of it; and what else is looked for, which few tasks have. Of the tasks in
    `reworded` they are those that have all that is looked for.

    Return nothing at all where no bitmaps were made, or too much was reworded since.
    """
    by_word = {needle.strip(): needle for needle in needles}
    clause, value = view.among([NO_WORD, *by_word])
    sql = f"SELECT word, bits FROM bitmaps WHERE word {clause} ORDER BY part"
    parts: dict[str, list[bytes]] = {}
    for word, bits in view.rows(sql, (value,)):
        parts.setdefault(word, []).append(bits)
    if not parts.pop(NO_WORD, None):
        return None
    changed = dict(view.rows(f"SELECT number, stamp FROM reworded LIMIT {REWORDED + 1}"))
    if len(changed) > REWORDED:
        return None
    others = [needle for word, needle in by_word.items() if word not in parts]
    if not parts:
        return None, others
    found = -1
    try:
        for packed in parts.values():
            found &= int.from_bytes(b"".join(map(unpacked, packed)), "little")
    except UNREADABLE:
        return None  # the index of words is still right
    found &= ~bits_of(changed)
    texts = view.kept_texts(changed)
    saying = [one for one, text in texts.items() if fits(text, needles)]
    return Having(found | bits_of(saying)), others


def unpacked(packed: bytes) -> bytes:
    """Return the bits of a row: one for each of the numbers of its part, the lowest first."""
    return zlib.decompress(packed) if packed else bytes(PART // 8)


def packed(bits: bytes) -> bytes:
    """Return bits as a row keeps them."""
    return zlib.compress(bits, 1) if any(bits) else b""


def bits_of(numbers: Iterable[int]) -> int:
    """Return a bit for each of some numbers."""
    some = list(numbers)
    bits = bytearray(max(some, default=0) // 8 + 1)
    for number in some:
        bits[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(bits, "little")
