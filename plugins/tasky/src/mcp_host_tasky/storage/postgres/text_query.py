"""Words, tags and a status as PostgreSQL's text searches."""

from collections.abc import Sequence
from typing import Any, Protocol

from ...model import SHORTEST_PREFIX, Status, Wanted
from ..sql import status_word, tag_word
from . import limits
from .lexemes import LONGEST_WORD, months_lexemes

_BEGINNINGS = 3


class KnownWords(Protocol):
    """Who knows which words tasks have: a view of the store."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...

    def known(self, word: str) -> list[str] | None: ...


class TextQuery:
    """The text search of a search's words and tags, and of what else the index of words has: each
    word is the beginning of a word. There is none where a walk through all tasks finds what is
    wanted as soon: without words, and with one tag at most."""

    def __init__(self, view: KnownWords, wanted: Wanted) -> None:
        self._view = view
        self._wanted = wanted
        self._known: dict[str, list[str] | None] = {}
        self.is_needed = bool(wanted.words) or len(wanted.tags) > 1
        self.has_months = False
        """Whether it leaves no more than some months before what is new enough."""
        self.text = ""
        if not self.is_needed:
            return
        for word in wanted.words:
            if len(word) >= SHORTEST_PREFIX:
                self._known[word] = view.known(word[:LONGEST_WORD])
        months = self._months()
        self.has_months = bool(months)
        self._beside = [_one_of(months)] if months else []
        self.text = self._joined(self._known)

    @property
    def statuses(self) -> list[Status]:
        """The statuses that are wanted; no task has two."""
        wanted = self._wanted
        statuses = {wanted.status} if wanted.status else set()
        if wanted.waiting or wanted.ready_for is not None:
            statuses.add(Status.PENDING)
        return sorted(statuses)

    @property
    def begun(self) -> list[str]:
        """Text searches for each of the words that stand for the beginnings of more known ones than
        are spelt out: the index collects all tasks of all such words, whatever else is wanted."""
        many = [word for word, known in self._known.items() if known is None]
        return [_beginning(word, self._known) for word in many]

    @property
    def lexemes(self) -> int:
        """How many words, tags and so on it names: the index compares tasks with all of them."""
        return self.text.count("|") + self.text.count("&") + 1

    @property
    def spelt(self) -> list[str]:
        """Text searches for each of the other words."""
        return [_beginning(word, self._known) for word in self._others]

    @property
    def _others(self) -> list[str]:
        """The words but the beginnings that are not spelt out."""
        return [word for word in self._wanted.words if self._known.get(word, []) is not None]

    @property
    def narrow(self) -> str | None:
        """A text search for all but the beginnings that are not spelt out; None where there are
        none of these, or nothing else is wanted but a status."""
        others = self._others
        if not self.begun or not (others or self._beside or self._wanted.tags):
            return None
        return self._joined(self._known, others)

    @property
    def is_spelt_out(self) -> bool:
        """Whether a word stands for several known ones that begin so: the planner adds up how many
        tasks have each, as if none had two, and knows little of words that few have."""
        return any(known is not None and len(known) > 1 for known in self._known.values())

    def of_words(self) -> str:
        """Return a text search for the words alone; for all that is wanted where there are none."""
        if not self._wanted.words:
            return self.text
        return " & ".join(_beginning(word, self._known) for word in self._wanted.words)

    def of_some(self) -> str | None:
        """Return a text search that finds some of the matches: for a beginning that too many words
        have, the most frequent of these; None where all are spelt out anyway."""
        many = [word for word, known in self._known.items() if known is None]
        frequent = {word: self._frequent(word[:LONGEST_WORD]) for word in many}
        return (
            self._joined({**self._known, **frequent}) if many and all(frequent.values()) else None
        )

    def _joined(
        self, known: dict[str, list[str] | None], words: Sequence[str] | None = None
    ) -> str:
        wanted = self._wanted
        words = wanted.words if words is None else words
        whole = [*map(status_word, self.statuses), *map(tag_word, wanted.tags)]
        begun = [_beginning(word, known) for word in words]
        return " & ".join([*(f"'{one}'" for one in whole), *self._beside, *begun])

    def _months(self) -> list[str]:
        """Return the months of what is new enough, where these are few."""
        after = self._wanted.created_after
        if not after:
            return []
        ((last,),) = self._view.rows("SELECT max(created_at) FROM tasks")
        return months_lexemes(after, last or after, limits.MONTHS)

    def _frequent(self, beginning: str) -> list[str]:
        """Return words that begin so and that many tasks have, as far as the planner knows."""
        sql = (
            "SELECT word FROM pg_stats, unnest(most_common_elems::text::text[]) "
            "WITH ORDINALITY AS common (word, place) WHERE schemaname = current_schema() "
            "AND tablename = 'words' AND attname = 'words' AND starts_with(word, ?) "
            "ORDER BY most_common_elem_freqs[place] DESC LIMIT ?"
        )
        return [row[0] for row in self._view.rows(sql, (beginning, _BEGINNINGS))]


def _beginning(word: str, known: dict[str, list[str] | None]) -> str:
    """Return what matches a word, or all known words that begin so: a true prefix has the
    database list all tasks of each before it looks at the next condition."""
    cut = word[:LONGEST_WORD]
    if word not in known:
        return f"'{cut}'"
    spelt = known[word]
    if spelt is None:
        return f"'{cut}':*"
    return _one_of(spelt or [cut])


def _one_of(lexemes: Sequence[str]) -> str:
    joined = " | ".join(f"'{one}'" for one in lexemes)
    return f"({joined})"
