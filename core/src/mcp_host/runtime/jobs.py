"""One piece of work in a pack: begun on the pack's loop or in a thread, awaited on the host's."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeAlias, TypeVar

from . import eager
from .loop import PackLoop

T = TypeVar("T")
Work: TypeAlias = Callable[[], Coroutine[Any, Any, T]]
Told: TypeAlias = Callable[[], None] | None
"""Says to the work, in the host's loop, that it is taken back."""


class Job(Generic[T]):
    """One piece of work, which raises nothing: what can fail says so in what it returns.

    It settles `outcome` once, in the host's loop, and has `ended` then. Once `abandoned` it does
    not begin; where it had begun, `over` is called in the host's loop when it ends. The work is
    told before it is cancelled, so that it knows why.
    """

    def __init__(self, over: Callable[[], None], told: Told = None) -> None:
        self._host = asyncio.get_running_loop()
        self._over = over
        self._told = told
        self._context = contextvars.copy_context()
        self._task: asyncio.Task[None] | None = None
        self.outcome: asyncio.Future[T] = self._host.create_future()
        self.abandoned = False
        self.ended = False

    def begin(self, loop: PackLoop, work: Work[T], closed: T) -> None:
        """Begin in the pack's loop; `closed` is the outcome where that ends first."""
        if self.abandoned:
            self._deliver(closed)
            return
        self._task = eager.start(self._run(work, closed), self._context)

    def tell(self) -> None:
        """Say to the work that nobody waits for it any more, in the host's loop."""
        if self._told is not None:
            self._told()

    def cancel(self) -> None:
        """Cancel the work, in the pack's loop."""
        if self._task is not None:
            self._task.cancel()

    def call(self, work: Callable[[], T], closed: T) -> None:
        """Do the work in this thread."""
        self._deliver(closed if self.abandoned else self._context.run(work))

    async def _run(self, work: Work[T], closed: T) -> None:
        outcome = closed
        try:
            outcome = await work()
        finally:  # also where the loop ends around it
            self._deliver(outcome)

    def _deliver(self, outcome: T) -> None:
        try:
            self._host.call_soon_threadsafe(self._settle, outcome)
        except RuntimeError:
            return  # the host's loop has ended, and nobody waits any more

    def _settle(self, outcome: T) -> None:
        self.ended = True
        if self.abandoned:
            self._over()
        elif not self.outcome.done():
            self.outcome.set_result(outcome)
