"""The way from one thread to the event loop of another: one wake-up for all that has gathered."""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..startup.descriptors import above_low

if sys.platform == "linux":
    from .unblocking import wake, woken


class Crossing:
    """Has functions called on a loop, in the order in which they were posted.

    To wake a loop costs a system call on each side, and often the interpreter changes threads with
    it: a loop that was woken takes all that is there. Functions are called in the context in which
    this was made. `_is_woken` says that `_take` will still run. The loop is woken by `_event` where
    the system has such descriptors, which takes half of what the loop's own way takes; it is None
    from `close` on, and changes in the hands of `_waking` alone. `before_waking` is called in a
    thread that is about to wake the loop.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        before_waking: Callable[[], object] | None = None,
    ) -> None:
        self._loop = loop
        self._before_waking = before_waking
        self._context = contextvars.copy_context()
        self._waiting: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self._is_woken = False
        self._waking = threading.RLock()  # a finalizer may post while a thread wakes the loop
        self._event = _event()
        if self._event is not None:
            self._context.run(loop.add_reader, self._event, self._woken, self._event)

    @property
    def waiting(self) -> int:
        """How many functions wait to be called."""
        return len(self._waiting)

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
            self._draw_and_wake()
        else:
            after.call_soon(self._draw_and_wake)

    def close(self) -> None:
        """Wake the loop by its own way from now on; on the loop, or once it has stopped."""
        with self._waking:
            event, self._event = self._event, None
        if event is not None:
            with suppress(OSError):  # a pack has closed it
                self._loop.remove_reader(event)
                os.close(event)

    def _draw_and_wake(self) -> None:
        if self._before_waking is not None:
            self._before_waking()
        self._wake()

    def _wake(self) -> None:
        with self._waking:
            try:
                if self._event is not None:
                    wake(self._event)
                    return
            except OSError:  # a pack has closed it
                self._event = None
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._take, context=self._context)

    def _woken(self, event: int) -> None:
        with suppress(OSError):  # a pack has read it, or closed it
            woken(event)
        self._take()

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


def _event() -> int | None:
    """Open what wakes a loop, with a number that no pack meets by chance; None without such."""
    if sys.platform != "linux":
        return None
    try:
        low = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
    except OSError:
        return None
    return above_low(low)
