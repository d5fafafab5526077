"""Words as PostgreSQL's text searches."""

from collections.abc import Sequence
from typing import Any, Protocol

from ...model import SHORTEST_PREFIX, Wanted
from ..sql import status_word

LONGEST_WORD = 500
"""A longer word is cut, to fit into an index."""
_BEGINNINGS = 3


class KnownWords(Protocol):
    """Who knows which words tasks have: a view of the store."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...

    def known(self, word: str) -> list[str] | None: ...


class TextQuery:
    """The text search of a search's words and status: each word is the beginning of a word."""

    def __init__(self, view: KnownWords, wanted: Wanted) -> None:
        self._view = view
        self._wanted = wanted
        self._known: dict[str, list[str] | None] = {}
        for word in wanted.words:
            if len(word) >= SHORTEST_PREFIX:
                self._known[word] = view.known(word[:LONGEST_WORD])
        self.text = self._joined(self._known) if wanted.words else ""

    @property
    def is_spelt_out(self) -> bool:
        """Whether a word stands for several known ones that begin so: the planner adds up how many
        tasks have each, as if none had two, and knows little of words that few have."""
        return any(known is not None and len(known) > 1 for known in self._known.values())

    def of_some(self) -> str | None:
        """Return a text search that finds some of the matches: for a beginning that too many words
        have, the most frequent of these; None where all are spelt out anyway."""
        many = [word for word, known in self._known.items() if known is None]
        frequent = {word: self._frequent(word[:LONGEST_WORD]) for word in many}
        return (
            self._joined({**self._known, **frequent}) if many and all(frequent.values()) else None
        )

    def _joined(self, known: dict[str, list[str] | None]) -> str:
        wanted = self._wanted
        status = [f"'{status_word(wanted.status)}'"] if wanted.status else []
        return " & ".join([*status, *(_one_of(word, known) for word in wanted.words)])

    def _frequent(self, beginning: str) -> list[str]:
        """Return words that begin so and that many tasks have, as far as the planner knows."""
        sql = (
            "SELECT word FROM pg_stats, unnest(most_common_elems::text::text[]) "
            "WITH ORDINALITY AS common (word, place) WHERE schemaname = current_schema() "
            "AND tablename = 'words' AND attname = 'words' AND starts_with(word, ?) "
            "ORDER BY most_common_elem_freqs[place] DESC LIMIT ?"
        )
        return [row[0] for row in self._view.rows(sql, (beginning, _BEGINNINGS))]


def _one_of(word: str, known: dict[str, list[str] | None]) -> str:
    """Return what matches a word, or all known words that begin so: a true prefix has the
    database list all tasks of each before it looks at the next condition."""
    cut = word[:LONGEST_WORD]
    if word not in known:
        return f"'{cut}'"
    spelt = known[word]
    if spelt is None:
        return f"'{cut}':*"
    words = " | ".join(f"'{one}'" for one in spelt or [cut])
    return f"({words})"
