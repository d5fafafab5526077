"""Words, tags and a status as PostgreSQL's text searches."""

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any, Protocol

from ...model import Status, Wanted
from ..sql import beginning_of, needle, status_word, statuses_of, tag_word, whole
from . import limits
from .lexemes import LONGEST_WORD, is_longer, months_lexemes

_BEGINNINGS = 3


class KnownWords(Protocol):
    """Who knows which words tasks have: a view of the store."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...

    def known(self, word: str) -> list[str] | None: ...


class TextQuery:
    """The text search of a search's words and tags, and of what else the index of words has: each
    word is the beginning of a word. There is none where a walk through all tasks finds what is
    wanted as soon: without words, and with one tag at most.

    A short beginning is a word of the index. As far as few words begin as a longer one does, these
    are known, and the index may be asked for each. A text that is read is asked for the beginning:
    it is compared once for that, not with each word.
    """

    def __init__(self, view: KnownWords, wanted: Wanted) -> None:
        self._view = view
        self._wanted = wanted
        self._known: dict[str, list[str] | None] = {}
        self.is_needed = bool(wanted.words) or len(wanted.tags) > 1
        self._months: list[str] = []
        self.text = self.read = ""
        """What is wanted, with known words spelt out; and the same for texts that are read."""
        if not self.is_needed:
            return
        for word in wanted.words:
            if is_longer(word):
                self._known[word] = view.known(word[:LONGEST_WORD])
        self._months = self._new_months()
        self._begun: dict[str, list[str] | None] = dict.fromkeys(self._known)
        self.text = self._joined(self._known)
        self.read = self._joined(self._begun)

    @property
    def statuses(self) -> list[Status]:
        """The statuses that are wanted; no task has two."""
        return statuses_of(self._wanted)

    def known(self, word: str) -> int | None:
        """Return how many words are known that begin as a wanted one; None where these are too
        many to be spelt out."""
        spelt = self._known.get(word, [word])
        return None if spelt is None else len(spelt)

    @cached_property
    def many(self) -> list[str]:
        """The words for which too many known ones begin so to be spelt out."""
        return [word for word, known in self._known.items() if known is None]

    @property
    def has_months(self) -> bool:
        """Whether it leaves no more than some months before what is new enough."""
        return bool(self._months)

    def asked(self, begun: Collection[str], left_out: Collection[str]) -> str:
        """Return what is wanted, as the index is asked for it: for the words of `begun` it collects
        all tasks of all words that begin so, whatever else is wanted; of those that are left out it
        is asked for the first letters; the others are spelt out."""
        known = {word: None if word in begun else spelt for word, spelt in self._known.items()}
        words = [beginning_of(one) if one in left_out else one for one in self._wanted.words]
        return self._joined(known, words)

    @property
    def is_spelt_out(self) -> bool:
        """Whether a word stands for several known ones that begin so: the planner adds up how many
        tasks have each, as if none had two, and knows little of words that few have."""
        return any(known is not None and len(known) > 1 for known in self._known.values())

    def of_words(self) -> str:
        """Return a text search for the words alone; for all that is wanted where there are none."""
        return " & ".join(self._each(self._known, self._wanted.words)) or self.text

    def needles(self, words: Collection[str]) -> list[str]:
        """Return what stands in a text with some of the words, for each of them."""
        return [needle(word[:LONGEST_WORD]) for word in words]

    @cached_property
    def beside(self) -> list[str]:
        """What stands in a text besides words."""
        return list(map(whole, self._lexemes))

    @cached_property
    def months(self) -> list[str]:
        """One of these stands in a text, if there are any."""
        return list(map(whole, self._months))

    def of_some(self) -> str | None:
        """Return a text search that finds some of the matches: for a beginning that too many words
        have, the most frequent of these; None where all are spelt out anyway."""
        frequent = {word: self._frequent(word[:LONGEST_WORD]) for word in self.many}
        is_some = self.many and all(frequent.values())
        return self._joined({**self._known, **frequent}) if is_some else None

    def _joined(
        self, known: dict[str, list[str] | None], words: Sequence[str] | None = None
    ) -> str:
        begun = self._each(known, self._wanted.words if words is None else words)
        months = [_one_of(self._months)] if self._months else []
        return " & ".join([*(f"'{one}'" for one in self._lexemes), *months, *begun])

    @cached_property
    def _lexemes(self) -> list[str]:
        return [*map(status_word, self.statuses), *map(tag_word, self._wanted.tags)]

    def _each(self, known: dict[str, list[str] | None], words: Sequence[str]) -> list[str]:
        return [_beginning(word, known) for word in words]

    def _new_months(self) -> list[str]:
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


def lexemes_in(query: str) -> int:
    """Return how many words, tags and so on a text search names."""
    return query.count("|") + query.count("&") + 1


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
