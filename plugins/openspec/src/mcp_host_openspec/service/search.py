"""Finding requirements by what they say: full text, ranked."""

import re
import threading
from collections.abc import Iterator
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from ..errors import OpenSpecError
from ..model.requirements import BODY, Block, sections_of
from ..model.spec import SpecDocument
from ..model.text import pattern, trim
from ..storage.tree import Tree

_WIDE: Final = pattern("([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])")
_CAMEL: Final = pattern(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD: Final = re.compile(r"\w+")
_EXCERPT: Final = 160

_COMMON: Final = frozenset(
    _WORD.findall(
        """
        a about already an and any are as at be been built by can could do does done for from get
        had has have how i if in into is it its may might must of on or our shall should so some
        system than that the their them then there these they this to up us use used using was we
        were what when where whether which while who why will with would you your
        """
    )
)
"""Words that say nothing about what is asked for."""

_MAKE: Final = """
CREATE VIRTUAL TABLE requirements USING fts5(
    capability, name, scenarios, body, place UNINDEXED, tokenize = 'porter unicode61'
)
"""
_FIND: Final = """
SELECT place FROM requirements WHERE requirements MATCH ?
ORDER BY bm25(requirements, 3.0, 6.0, 3.0, 1.0), place LIMIT ?
"""


class Match(NamedTuple):
    """A requirement that was found."""

    capability: str
    requirement: str
    excerpt: str
    """The beginning of its text."""
    scenarios: tuple[str, ...]
    """The names of its scenarios, those first that hold words asked for."""


class Search:
    """The requirements of one tree as a full-text index, kept until a spec changes."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._lock = threading.Lock()
        import sqlite3  # only here: most sessions search for nothing

        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.execute(_MAKE)
        self._indexed: dict[str, SpecDocument] = {}
        self._rows: dict[str, range] = {}
        self._next_row = 1

    def find(self, query: str, limit: int) -> list[Match]:
        """The requirements that say most of what is asked for, best first."""
        self._tree.check_there()
        words = _words(query)
        if not words:
            raise OpenSpecError(
                "find must hold a word to look for.",
                suggestions=["Ask with the words that a requirement would use."],
            )
        with self._lock:
            self._refresh()
            asked = " OR ".join(f'"{word}"' for word in words)
            rows = self._database.execute(_FIND, (asked, limit)).fetchall()
            return [self._match(place, words) for (place,) in rows]

    def _refresh(self) -> None:
        """Bring the index up to the specs as they are now."""
        current = dict(self._documents())
        for capability in self._indexed.keys() | current.keys():
            if self._indexed.get(capability) is not current.get(capability):
                self._database.executemany(
                    "DELETE FROM requirements WHERE rowid = ?",
                    [(row,) for row in self._rows.pop(capability, ())],
                )
                if capability in current:
                    self._add(capability, current[capability])
        self._indexed = current

    def _add(self, capability: str, spec: SpecDocument) -> None:
        blocks = spec.parts.blocks
        rows = self._rows[capability] = range(self._next_row, self._next_row + len(blocks))
        self._next_row = rows.stop
        self._database.executemany(
            "INSERT INTO requirements (rowid, capability, name, scenarios, body, place) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [
                (
                    rows[index],
                    _split(capability),
                    _split(block.name),
                    _split(" ".join(block.scenario_names)),
                    _split("\n".join(block.body)),
                    f"{capability}\0{index}",
                )
                for index, block in enumerate(blocks)
            ],
        )

    def _documents(self) -> Iterator[tuple[str, SpecDocument]]:
        for capability, path in self._tree.spec_paths().items():
            try:
                yield capability, self._tree.spec_at(path)
            except (OSError, OpenSpecError):
                continue  # one that cannot be read hides no other

    def _match(self, place: str, words: list[str]) -> Match:
        capability, _, index = place.partition("\0")
        block = self._indexed[capability].parts.blocks[int(index)]
        text = " ".join(trim(sections_of(block)[BODY]).split())
        excerpt = text if len(text) <= _EXCERPT else f"{text[:_EXCERPT].rstrip()}…"
        return Match(capability, block.name, excerpt, _ranked(block, words))


class Searches:
    """The indexes of several trees, each made when it is first asked for."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Tree, Search] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def of(self, tree: Tree) -> Search:
        """The index of one tree."""
        with self._lock:
            return self._known.setdefault(tree, Search(tree))


def _ranked(block: Block, words: list[str]) -> tuple[str, ...]:
    """The names of a requirement's scenarios, those with most of the words first."""
    counts = {
        section.name: sum(word.lower() in text.lower() for word in words)
        for section, text in sections_of(block).items()
        if section is not BODY
    }
    return tuple(sorted(counts, key=lambda name: -counts[name]))


def _words(query: str) -> list[str]:
    """The words to look for: without those that say nothing, unless there are no others."""
    words = list(dict.fromkeys(_WORD.findall(_split(query).lower())))
    return [word for word in words if word not in _COMMON] or words


def _split(text: str) -> str:
    """The text with names like camelCase, snake_case and wide scripts taken apart into words."""
    return _WIDE.sub(r" \1 ", _CAMEL.sub(" ", text).replace("_", " "))
