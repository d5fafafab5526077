"""Makes the bitmaps of the words that many tasks have, a part of the plan at a time, when nobody
writes.

Which words these are a sample of the plan's texts tells, and tells anew where the plan has grown.
A part is made from the texts of its tasks, and later from those of its tasks that were reworded.
"""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from ..store import no_guard
from .bitmaps import (
    NO_WORD,
    PART,
    REWORDED,
    UNREADABLE,
    BitmapView,
    bits_of,
    packed,
    unpacked,
)
from .drawing import drawn
from .words import BEGINNING_SIGN, BEGINNINGS, STATUS_SIGN, TAG_SIGN

SMALLEST = 40_000
"""In a plan of fewer tasks an index of words is quick."""
GROWN = 1.5
"""Words are chosen anew in a plan that has so many times the tasks."""
LAGGING = 1_000
"""When nobody writes, bitmaps are made where so many tasks were reworded since."""
LAGGING_MEANWHILE = 1_000
"""Among writes they are made where so many of one part were, and not many more than that."""
_DRAWN = 3_000
_CHECKED = 2_000
_LONGEST = 24
"""Longer beginnings get no bitmaps: few ask for them."""
BLOCK = 1_024
"""So many tasks are marked at a time."""
LEASE = 60
"""Who makes a part has so many seconds for it; meanwhile other processes leave it to that one."""
_MADE, _CHOSEN_AT, _MAKING_AT = "bitmaps_made", "bitmaps_chosen_at", "bitmaps_making_at"
"""Counters: how often something was made of bitmaps, how many tasks there were when their words
were chosen, and the second in which somebody began to make some."""


class View(BitmapView, Protocol):
    """What this room needs of a view of the store."""

    def run(self, sql: str, many: Iterable[Sequence[Any]]) -> None: ...

    def last_number(self) -> int: ...

    def last_event(self) -> int: ...

    def now(self) -> datetime: ...

    @property
    def stamp(self) -> str: ...


class Store(Protocol):
    """What this room needs of a store."""

    def read(self) -> AbstractContextManager[View]: ...

    def write(self) -> AbstractContextManager[View]: ...


class _Part(NamedTuple):
    """The rows of a part as they are to be, at a moment of the plan."""

    number: int
    rows: list[tuple[str, int, bytes]]
    last_event: int
    """The last event of that moment: what was reworded by later ones is not in the rows."""
    made_before: int
    """How often something had been made then: another process may make the same."""
    chosen_at: int
    """The number of tasks for which the words were chosen."""


def make_part(store: Store, frequent: int, guard: Callable[[], None], *, is_pause: bool) -> bool:
    """Make a part of a plan's bitmaps, or leave it to who makes one; return whether one was due.
    Words that about so many tasks have are frequent. `guard` is called now and then, and may raise.
    """
    with store.read() as view:
        if not _is_due(view, is_pause=is_pause):
            return False
    with store.write() as view:
        is_first = _begin(view)
    if is_first:
        with store.read() as view:
            part = _made(view, frequent, guard)
        with store.write() as view:
            _keep(view, part)
    return True


def _is_due(view: View, *, is_pause: bool) -> bool:
    """Whether a part is worth to be made, in a plan that is not small. Among writes it is one in
    which much was reworded: what is written all over the plan waits for a pause."""
    if view.last_number() < SMALLEST:
        return False
    some = f"SELECT number FROM reworded LIMIT {LAGGING if is_pause else 2 * REWORDED + 1}"
    sql = f"SELECT count(*) FROM ({some}) AS reworded GROUP BY number / {PART}"
    counts = [int(row[0]) for row in view.rows(sql)]
    if is_pause:
        return sum(counts) >= LAGGING
    are_few = sum(counts) <= 2 * REWORDED
    return are_few and max(counts, default=0) >= LAGGING_MEANWHILE


def _begin(view: View) -> bool:
    """Note that a part is made from now on; return whether nobody else makes one."""
    now = int(view.now().timestamp())
    if 0 <= now - _counter(view, _MAKING_AT) < LEASE:
        return False
    _count(view, _MAKING_AT, now)
    return True


def _made(view: View, frequent: int, guard: Callable[[], None]) -> _Part:
    """Return the part that is to be kept next."""
    last = view.last_number()
    made_before, chosen_at = _counter(view, _MADE), _counter(view, _CHOSEN_AT)
    words, parts = _words(view), _parts(view)
    if not chosen_at or last > GROWN * chosen_at:
        words, parts, chosen_at = _chosen(view, last, frequent, guard), [], last
    if len(parts) * PART <= last:
        part, old = len(parts), {}
        numbers: Sequence[int] = range(part * PART, min(last + 1, (part + 1) * PART))
    else:
        counts = dict(view.rows(f"SELECT number / {PART}, count(*) FROM reworded GROUP BY 1"))
        part = max(counts, key=counts.__getitem__, default=0)
        old = dict(view.rows("SELECT word, bits FROM bitmaps WHERE part = ?", (part,)))
        sql = f"SELECT number FROM reworded WHERE number / {PART} = ?"
        numbers = [row[0] for row in view.rows(sql, (part,))]
    rows = list(_rows(view, part, words, old, numbers, guard))
    return _Part(part, rows, view.last_event(), made_before, chosen_at)


def _keep(view: View, part: _Part) -> None:
    """Keep the rows of a part, unless something was made meanwhile."""
    if _counter(view, _MADE) != part.made_before:
        return
    if part.chosen_at != _counter(view, _CHOSEN_AT):
        view.run("DELETE FROM bitmaps WHERE part >= ?", [(0,)])
        # No bitmap is right of any task from now on.
        view.run(
            f"INSERT INTO reworded SELECT number, ?, {view.stamp} FROM tasks WHERE true "
            "ON CONFLICT (number) DO NOTHING",
            [(part.last_event,)],
        )
    view.run("DELETE FROM bitmaps WHERE part = ?", [(part.number,)])
    view.run("INSERT INTO bitmaps (word, part, bits) VALUES (?, ?, ?)", part.rows)
    first = part.number * PART
    view.run(
        "DELETE FROM reworded WHERE number >= ? AND number < ? AND at_event <= ?",
        [(first, first + PART, part.last_event)],
    )
    _count(view, _MADE, part.made_before + 1)
    _count(view, _CHOSEN_AT, part.chosen_at)
    _count(view, _MAKING_AT, 0)


def misdrawn(view: View) -> list[str]:
    """Say where bitmaps say something else than texts do, of tasks from all over the plan."""
    words = _words(view)
    wrong = 0
    tasks = set(drawn(view.last_number(), _CHECKED))
    tasks.difference_update(row[0] for row in view.rows("SELECT number FROM reworded"))
    for part in _parts(view):
        first = part * PART
        some = sorted(number for number in tasks if first <= number < first + PART)
        mask = bits_of(number - first for number in some)
        kept = dict(view.rows("SELECT word, bits FROM bitmaps WHERE part = ?", (part,)))
        for word, _, bits in _rows(view, part, words, {}, some, no_guard):
            with suppress(KeyError, *UNREADABLE):
                if not (_number(unpacked(bits)) ^ _number(unpacked(kept[word]))) & mask:
                    continue
            wrong += 1
            break
    told = f"Bitmaps of words are wrong in {wrong} parts. A copy has them right: tasky backup."
    return [told] if wrong else []


def _parts(view: View) -> list[int]:
    """Return the parts that bitmaps were made of, in order."""
    return [row[0] for row in view.rows("SELECT part FROM bitmaps WHERE word = '' ORDER BY part")]


def _words(view: View) -> list[str]:
    """Return the words that there are bitmaps of."""
    sql = "SELECT word FROM bitmaps WHERE part = 0 AND word <> '' ORDER BY word"
    return [row[0] for row in view.rows(sql)]


def _counter(view: View, name: str) -> int:
    found = view.rows("SELECT value FROM counters WHERE name = ?", (name,))
    return found[0][0] if found else 0


def _count(view: View, name: str, value: int) -> None:
    sql = "INSERT INTO counters VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = "
    view.run(f"{sql} excluded.value", [(name, value)])


def _chosen(view: View, last: int, frequent: int, guard: Callable[[], None]) -> list[str]:
    """Return the words and beginnings that many tasks have, as far as some texts tell."""
    having: Counter[str] = Counter()
    size = 0
    numbers = sorted(drawn(last, _DRAWN))
    for start in range(0, _DRAWN, BLOCK):
        guard()
        for text in view.texts(numbers[start : start + BLOCK]).values():
            having.update({found for word in text.split() for found in told_by(word)})
            size += 1
    return sorted(word for word, count in having.items() if count * last >= frequent * size)


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
    others = ~bits_of(number - first for number in numbers)
    yield NO_WORD, part, b""
    for word, bits in marks.made():
        guard()
        if before := old.get(word):
            kept = _number(unpacked(before)) & others
            yield word, part, packed((kept | _number(bits)).to_bytes(PART // 8, "little"))
        else:
            yield word, part, packed(bits)


def _number(bits: bytes) -> int:
    return int.from_bytes(bits, "little")
