"""The way from one thread to the event loop of another: one wake-up for all that has gathered."""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any


class Crossing:
    """Has functions called on a loop, in the order in which they were posted.

    To wake a loop costs a system call on each side, and often the interpreter changes threads with
    it: a loop that was woken takes all that is there. Functions are called in the context in which
    this was made. `_is_woken` says that `_take` will still run.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._context = contextvars.copy_context()
        self._waiting: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self._is_woken = False

    def post(
        self,
        function: Callable[..., object],
        *arguments: Any,
        after: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Have a function called, from any thread; silent where the loop has ended.

        With `after`, the running loop, the other is woken once that has done what it is doing.
        """
        self._waiting.append((function, arguments))
        if self._is_woken:
            return
        self._is_woken = True
        if after is None:
            self._wake()
        else:
            after.call_soon(self._wake)

    def _wake(self) -> None:
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._take, context=self._context)

    def _take(self) -> None:
        self._is_woken = False  # first: what is posted from here on wakes the loop again
        waiting = self._waiting
        try:
            for _ in range(len(waiting)):
                function, arguments = waiting.popleft()
                function(*arguments)
        finally:
            if waiting and not self._is_woken:  # one has raised
                self._is_woken = True
                self._loop.call_soon(self._take, context=self._context)
