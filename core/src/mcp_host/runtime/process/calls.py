"""What a child was told to do and has not answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..mailbox import Said
from ..messages import Answered


@dataclass(eq=False)
class AwaitedCall:
    """Something that a child is told to do: what it is, and who waits for its outcome."""

    what: str
    outcome: asyncio.Future[Any]
    hear: Callable[[Said], None] | None = None
    at_once: Callable[[Answered], bool] | None = None


class ChildCalls:
    """The calls of one child by their numbers; every method belongs to the host's loop.

    - `_awaited` are those that somebody waits for, `_abandoned` names those that were cancelled and
      have not come back. No number is in both.
    - `abandoned` counts the latter and those that the child has abandoned itself. `on_abandoned`
      hears each new count.
    - `came_back_at` is when the last of them came back, or when the first was abandoned.
    """

    def __init__(self, on_abandoned: Callable[[int], None]) -> None:
        self.abandoned = 0
        self.came_back_at = 0.0
        self._on_abandoned = on_abandoned
        self._number = 0
        self._awaited: dict[int, AwaitedCall] = {}
        self._abandoned: dict[int, str] = {}
        self._by_child = 0

    @property
    def running(self) -> dict[int, str]:
        """What runs, by its number: awaited or abandoned."""
        return {**{n: call.what for n, call in self._awaited.items()}, **self._abandoned}

    @property
    def works(self) -> list[str]:
        """What runs, each name once, the abandoned first."""
        awaited = (call.what for call in self._awaited.values())
        return list(dict.fromkeys([*self._abandoned.values(), *awaited]))

    def begin(self, call: AwaitedCall) -> int:
        """Number a call that somebody waits for."""
        self._number += 1
        self._awaited[self._number] = call
        return self._number

    def awaited(self, number: int) -> AwaitedCall | None:
        """Return the call of this number, while somebody waits for it."""
        return self._awaited.get(number)

    def replied(self, number: int) -> AwaitedCall | None:
        """Note that a call has its reply; return it where somebody waits for that."""
        call = self._awaited.pop(number, None)
        if call is None:
            self.came_back(number)
        return call

    def abandon(self, number: int) -> bool:
        """Note that nobody waits for a call any more; False where it is over already."""
        call = self._awaited.pop(number, None)
        if call is None:
            return False
        if not self.abandoned:
            self.came_back_at = time.monotonic()
        self._set({**self._abandoned, number: call.what}, self._by_child)
        return True

    def came_back(self, number: int) -> None:
        """Note that an abandoned call runs no more."""
        left = {each: what for each, what in self._abandoned.items() if each != number}
        self._set(left, self._by_child)

    def abandoned_by_child(self, count: int) -> None:
        """Note how many calls the child itself has abandoned."""
        self._set(self._abandoned, count)

    def lose(self, error: Callable[[], Exception]) -> None:
        """Tell everybody who waits that no reply will come; nothing runs any more."""
        awaited, self._awaited = self._awaited, {}
        for call in awaited.values():
            if not call.outcome.done():
                call.outcome.set_exception(error())
                call.outcome.exception()  # looked at, also where nobody waits any more
        self._set({}, 0)

    def _set(self, abandoned: dict[int, str], by_child: int) -> None:
        before = self.abandoned
        self._abandoned, self._by_child = abandoned, by_child
        self.abandoned = len(abandoned) + by_child
        if self.abandoned < before:
            self.came_back_at = time.monotonic()
        if self.abandoned != before:
            self._on_abandoned(self.abandoned)
