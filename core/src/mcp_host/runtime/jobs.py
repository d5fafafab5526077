"""One piece of work in a pack: begun on the pack's loop or in a thread, awaited on the host's."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeAlias, TypeVar

from . import eager
from .crossing import Crossing
from .loop import PackLoop

T = TypeVar("T")
Work: TypeAlias = Callable[[], Coroutine[Any, Any, T]]
Told: TypeAlias = Callable[[], None] | None
"""Says to the work, in the host's loop, that it is taken back."""


class JobFuture(asyncio.Future[T]):
    """A future whose first waiter goes on as soon as it is settled, not a turn of the loop later.

    `_waiter` is that one: its callback, and the context to call it in.
    """

    _waiter: tuple[Callable[[Any], object], contextvars.Context] | None = None

    def settle(self, outcome: T) -> None:
        """Give the outcome, in a callback of the loop: no task may be running."""
        self.set_result(outcome)
        if self._waiter is not None:
            callback, context = self._waiter
            context.run(callback, self)

    def add_done_callback(
        self, fn: Callable[[Any], object], /, *, context: contextvars.Context | None = None
    ) -> None:
        if self._waiter is not None or self.done():
            super().add_done_callback(fn, context=context)
        else:
            self._waiter = fn, context or contextvars.copy_context()

    def take_waiter(
        self, task: asyncio.Task[Any]
    ) -> tuple[Callable[[Any], object], contextvars.Context] | None:
        """Return what has a task go on, and have it not called; None where that is not first."""
        waiter = self._waiter
        if waiter is None or self.done() or getattr(waiter[0], "__self__", None) is not task:
            return None
        self._waiter = None
        return waiter

    def cancel(self, msg: Any = None) -> bool:
        is_cancelled = super().cancel(msg)
        if is_cancelled and self._waiter is not None:
            callback, context = self._waiter
            self.get_loop().call_soon(callback, self, context=context)
        return is_cancelled


class Job(Generic[T]):
    """One piece of work, which raises nothing: what can fail says so in what it returns.

    It settles `outcome` once, in the host's loop, to which `back` leads, and has `ended` then. Once
    `abandoned` it does not begin; where it had begun, `over` is called in the host's loop when it
    ends. The work is told before it is cancelled, so that it knows why.
    """

    def __init__(self, back: Crossing, over: Callable[[], None], told: Told = None) -> None:
        self._back = back
        self._over = over
        self._told = told
        self._context = contextvars.copy_context()
        self._task: asyncio.Task[None] | None = None
        self.outcome: JobFuture[T] = JobFuture(loop=asyncio.get_running_loop())
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
        self._back.post(self._settle, outcome)  # silent where nobody waits any more

    def _settle(self, outcome: T) -> None:
        self.ended = True
        if self.abandoned:
            self._over()
        elif not self.outcome.done():
            self.outcome.settle(outcome)
