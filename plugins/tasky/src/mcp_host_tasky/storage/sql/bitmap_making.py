"""Makes the bitmaps of the words that many tasks have, a part of the plan at a time, when nobody
writes.

Which words these are a sample of the plan's texts tells, and tells anew where the plan has grown.
A part is made from the texts of its tasks, and later from those of its tasks that were reworded.
"""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from ..store import no_guard
from . import bitmaps
from .bitmaps import NO_WORD, PART, REWORDED, UNREADABLE, packed, unpacked
from .drawing import drawn
from .words import BEGINNING_SIGN, BEGINNINGS, STATUS_SIGN, TAG_SIGN

FREQUENT = 10_000
"""Words that about so many tasks have get bitmaps: of fewer, an index of words is quick."""
SMALLEST = 4 * FREQUENT
"""In a plan of fewer tasks an index of words is quick anyhow."""
GROWN = 1.5
"""Words are chosen anew in a plan that has so many times the tasks."""
LAGGING = 500
"""When nobody writes, bitmaps are made where so many tasks were reworded since."""
LAGGING_MEANWHILE = 1_500
"""Among writes they are made where so many were, and no more than can be soon made up for."""
_DRAWN = 3_000
_CHECKED = 2_000
_LONGEST = 24
"""Longer beginnings get no bitmaps: few ask for them."""
BLOCK = 1_024
"""So many tasks are marked at a time."""
_MADE, _CHOSEN_AT = "bitmaps_made", "bitmaps_chosen_at"
"""Counters: how often something was made of bitmaps, and how many tasks there were when their words
were chosen."""


class View(bitmaps.View, Protocol):
    """What this room needs of a view of the store."""

    def run(self, sql: str, many: Iterable[Sequence[Any]]) -> None: ...

    def texts(self, numbers: Collection[int]) -> dict[int, str]: ...

    def last_number(self) -> int: ...

    def last_event(self) -> int: ...


class Made(NamedTuple):
    """The rows of a part as they are to be, at a moment of the plan."""

    part: int
    rows: list[tuple[str, int, bytes]]
    last_event: int
    """The last event of that moment: what was reworded by later ones is not in the rows."""
    made_before: int
    """How often something had been made then: another process may make the same."""
    chosen_at: int
    """The number of tasks for which the words were chosen."""


def made(view: View, guard: Callable[[], None], *, is_pause: bool) -> Made | None:
    """Return the next part to be kept, where enough tasks were reworded for that; None in a small
    plan. `guard` is called now and then, and may raise."""
    least, most = (LAGGING, sys.maxsize) if is_pause else (LAGGING_MEANWHILE, 2 * REWORDED)
    last = view.last_number()
    ((reworded,),) = view.rows(
        f"SELECT count(*) FROM (SELECT 1 FROM reworded LIMIT {2 * REWORDED + 1}) AS waiting"
    )
    if last < SMALLEST or not least <= reworded <= most:
        return None
    words = _words(view)
    counts = dict(view.rows(f"SELECT number / {PART}, count(*) FROM reworded GROUP BY 1"))
    made_before, chosen_at = _counter(view, _MADE), _counter(view, _CHOSEN_AT)
    parts = [row[0] for row in view.rows("SELECT part FROM bitmaps WHERE word = ''")]
    if not words or last > GROWN * chosen_at:
        words, parts, chosen_at = _chosen(view, last, guard), [], last
    if len(parts) * PART <= last:
        part, old = len(parts), {}
        numbers: Sequence[int] = range(part * PART, min(last + 1, (part + 1) * PART))
    else:
        part = max(counts, key=counts.__getitem__)
        old = dict(view.rows("SELECT word, bits FROM bitmaps WHERE part = ?", (part,)))
        sql = f"SELECT number FROM reworded WHERE number / {PART} = ?"
        numbers = [row[0] for row in view.rows(sql, (part,))]
    rows = list(_rows(view, part, words, old, numbers, guard))
    return Made(part, rows, view.last_event(), made_before, chosen_at)


def keep(view: View, made: Made) -> None:
    """Keep the rows of a part, unless something was made meanwhile."""
    if _counter(view, _MADE) != made.made_before:
        return
    if made.chosen_at != _counter(view, _CHOSEN_AT):
        view.run("DELETE FROM bitmaps WHERE part >= ?", [(0,)])
        # No bitmap is right of any task from now on.
        view.run(
            "INSERT INTO reworded SELECT number, ? FROM tasks WHERE true "
            "ON CONFLICT (number) DO NOTHING",
            [(made.last_event,)],
        )
    view.run("DELETE FROM bitmaps WHERE part = ?", [(made.part,)])
    view.run("INSERT INTO bitmaps (word, part, bits) VALUES (?, ?, ?)", made.rows)
    first = made.part * PART
    view.run(
        "DELETE FROM reworded WHERE number >= ? AND number < ? AND at_event <= ?",
        [(first, first + PART, made.last_event)],
    )
    for name, value in ((_MADE, made.made_before + 1), (_CHOSEN_AT, made.chosen_at)):
        view.run(
            "INSERT INTO counters VALUES (?, ?) "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            [(name, value)],
        )


def misdrawn(view: View) -> list[str]:
    """Say where bitmaps say something else than texts do, of tasks from all over the plan."""
    words = _words(view)
    wrong = 0
    tasks = set(drawn(view.last_number(), _CHECKED))
    tasks.difference_update(row[0] for row in view.rows("SELECT number FROM reworded"))
    for (part,) in view.rows("SELECT part FROM bitmaps WHERE word = '' ORDER BY part"):
        first = part * PART
        some = sorted(number for number in tasks if first <= number < first + PART)
        mask = _number(_set(number - first for number in some))
        kept = dict(view.rows("SELECT word, bits FROM bitmaps WHERE part = ?", (part,)))
        for word, _, bits in _rows(view, part, words, {}, some, no_guard):
            with suppress(KeyError, *UNREADABLE):
                if not (_number(unpacked(bits)) ^ _number(unpacked(kept[word]))) & mask:
                    continue
            wrong += 1
            break
    told = f"Bitmaps of words are wrong in {wrong} parts. A copy has them right: tasky backup."
    return [told] if wrong else []


def _words(view: View) -> list[str]:
    """Return the words that there are bitmaps of."""
    sql = "SELECT word FROM bitmaps WHERE part = 0 AND word <> '' ORDER BY word"
    return [row[0] for row in view.rows(sql)]


def _counter(view: View, name: str) -> int:
    found = view.rows("SELECT value FROM counters WHERE name = ?", (name,))
    return found[0][0] if found else 0


def _chosen(view: View, last: int, guard: Callable[[], None]) -> list[str]:
    """Return the words and beginnings that many tasks have, as far as some texts tell."""
    having: Counter[str] = Counter()
    size = 0
    numbers = sorted(drawn(last, _DRAWN))
    for start in range(0, _DRAWN, BLOCK):
        guard()
        for text in view.texts(numbers[start : start + BLOCK]).values():
            having.update({found for word in text.split() for found in told_by(word)})
            size += 1
    return sorted(word for word, count in having.items() if count * last >= FREQUENT * size)


def told_by(word: str) -> Iterable[str]:
    """Return what a word of a text tells that the text is found by, the shortest first. Short
    beginnings stand there as words of their own."""
    if word[0] == BEGINNING_SIGN:
        return [word[1:]]
    if word[0] in STATUS_SIGN + TAG_SIGN:
        return [word]
    if not word[0].isalnum():
        return []
    if len(word) <= BEGINNINGS[-1]:
        return [word]
    return (word[:size] for size in range(BEGINNINGS[-1] + 1, min(len(word), _LONGEST) + 1))


class _Marks(dict[str, list[bytearray]]):
    """For each word of a text the bits of those bitmaps that it is marked in.

    Only a block of tasks is marked at a time: the bits of all words for it are so few that the
    processor has them at hand.
    """

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__()
        self._bits = {word: bytearray(BLOCK // 8) for word in words}
        self._blocks: dict[str, list[bytes]] = {word: [] for word in words}

    def __missing__(self, word: str) -> list[bytearray]:
        found = []
        for one in told_by(word):
            if one not in self._bits:
                break  # fewer tasks have a longer beginning
            found.append(self._bits[one])
        self[word] = found
        return found

    def mark(self, texts: Iterable[tuple[int, str]]) -> None:
        """Mark the texts of a block, by their places in it, and go on to the next one."""
        marked = self.__getitem__
        for at, text in texts:
            place, bit = at >> 3, 1 << (at & 7)
            for found in filter(None, map(marked, text.split())):
                for bits in found:
                    bits[place] |= bit
        for word, bits in self._bits.items():
            self._blocks[word].append(bytes(bits))
            bits[:] = bytes(BLOCK // 8)

    def made(self) -> Iterator[tuple[str, bytes]]:
        """Give the bitmap of each word."""
        for word, blocks in self._blocks.items():
            yield word, b"".join(blocks)


def _rows(
    view: View,
    part: int,
    words: Sequence[str],
    old: dict[str, bytes],
    numbers: Sequence[int],
    guard: Callable[[], None],
) -> Iterator[tuple[str, int, bytes]]:
    """Give the rows of a part: as they were, but for some tasks, of which texts tell."""
    first = part * PART
    marks = _Marks(words)
    for start in range(first, first + PART, BLOCK):
        guard()
        some = [number for number in numbers if start <= number < start + BLOCK]
        texts = view.texts(some) if some else {}
        marks.mark((number - start, text) for number, text in texts.items())
    others = ~_number(_set(number - first for number in numbers))
    yield NO_WORD, part, b""
    for word, bits in marks.made():
        if before := old.get(word):
            kept = _number(unpacked(before)) & others
            yield word, part, packed((kept | _number(bits)).to_bytes(PART // 8, "little"))
        else:
            yield word, part, packed(bits)


def _set(numbers: Iterable[int]) -> bytes:
    bits = bytearray(PART // 8)
    for number in numbers:
        bits[number >> 3] |= 1 << (number & 7)
    return bytes(bits)


def _number(bits: bytes) -> int:
    return int.from_bytes(bits, "little")
