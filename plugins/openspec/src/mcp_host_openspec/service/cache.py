"""Answers worked out from documents, kept for as long as the documents are the same."""

from collections.abc import Callable, Collection
from types import MappingProxyType
from typing import TypeVar
from weakref import WeakKeyDictionary

from ..errors import MergeError
from ..model.delta import DeltaDocument
from ..model.spec import SpecDocument
from ..storage.state import State
from .bases import Named
from .merge import Merged, merge

D = TypeVar("D")
T = TypeVar("T")


class DocumentCache:
    """Remembers what was worked out from one document, or from one document and others."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[object, dict[object, tuple[tuple[object, ...], object]]] = (
            WeakKeyDictionary()
        )

    def of(self, document: D, work_out: Callable[[D], T]) -> T:
        """What the function says of the document, asked once."""
        return self.with_others(document, (), work_out, lambda: work_out(document))

    def with_others(
        self,
        document: object,
        others: tuple[object, ...],
        key: object,
        work_out: Callable[[], T],
    ) -> T:
        """What was worked out under the key, as long as all documents are the same."""
        answers = self._known.setdefault(document, {})
        known = answers.get(key)
        if known is not None and all(a is b for a, b in zip(known[0], others, strict=True)):
            return known[1]  # type: ignore[return-value]  # the key fixes the type
        answer = work_out()
        answers[key] = (others, answer)
        return answer


class StateCache:
    """Remembers what was worked out from a change as long as nothing about it is different."""

    def __init__(self, state: Callable[[str], State | None]) -> None:
        self._state = state
        self._known: dict[tuple[str, str], tuple[State, object]] = {}

    def of(self, change: str, what: str, work_out: Callable[[], T], also: object = None) -> T:
        """What was worked out under this name, or what is worked out now.

        `also` is something else that it depends on.
        """
        seen = self._state(change)
        if seen is None:
            return work_out()
        state = (seen, also)
        known = self._known.get((change, what))
        if known is not None and known[0] == state:
            return known[1]  # type: ignore[return-value]  # the name fixes the type
        answer = work_out()
        if self._state(change) == seen:  # not edited while it was worked out
            self._known[change, what] = (state, answer)
        return answer

    def keep_only(self, changes: Collection[str]) -> None:
        """Forget the changes that are there no more."""
        for key in [key for key in self._known if key[0] not in changes]:
            del self._known[key]


class Merges:
    """Merges, each worked out once for one delta and one main spec."""

    def __init__(self, cache: DocumentCache) -> None:
        self.cache = cache

    def attempt(
        self,
        document: DeltaDocument,
        current: SpecDocument | None,
        capability: str,
        change: str,
        accept: frozenset[str] = frozenset(),
        bases: Named = MappingProxyType({}),
    ) -> Merged | MergeError:
        """The outcome of the merge, or why it is refused."""

        def work_out() -> Merged | MergeError:
            try:
                return merge(
                    document,
                    current,
                    capability=capability,
                    change=change,
                    accept=accept,
                    bases=bases,
                )
            except MergeError as refused:
                return refused.with_traceback(None)

        key = ("merge", capability, change, accept & {"L5", "L9"}, tuple(bases.items()))
        return self.cache.with_others(document, (current,), key, work_out)
