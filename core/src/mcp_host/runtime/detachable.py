"""Work whose awaiting task can be let go, while the work goes on.

A task for each piece of work that may need one later would cost a call more than all its
middleware; so the task is made when it is needed, which few pieces of work ever do.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Coroutine, Generator
from types import coroutine
from typing import Any, Generic, TypeAlias, TypeVar

from .jobs import JobFuture

T = TypeVar("T")

Waiter: TypeAlias = tuple[Callable[[Any], object], contextvars.Context]
"""What has a task go on when a future is done, and the context to call it in."""


class Detachable(Generic[T]):
    """A coroutine to be awaited once, from which the awaiting task can be detached.

    How it ended, result or exception, passes `through` on its way, where that is set by then and
    nothing was detached.

    Invariants: the work runs in `_awaiting` until `detach`, and in another task from then on, in
    the same context. `_waits_for` is the future that it waits for meanwhile; None: the next turn
    of the loop. `_instead` is what `_awaiting` has got.
    """

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self.through: Callable[[T | BaseException], Coroutine[Any, Any, T]] | None = None
        self._work = work
        self._waits_for: Any = None
        self._awaiting: asyncio.Task[Any] | None = None
        self._instead: T | None = None

    def __await__(self) -> Generator[Any, None, T]:
        self._awaiting = asyncio.current_task()
        work = self._work
        step: Callable[[Any], Any] = work.send
        given: Any = None
        ended: T | BaseException
        try:
            while True:
                self._waits_for = step(given)
                try:
                    yield self._waits_for
                except BaseException as error:
                    step, given = work.throw, error
                else:
                    if self._instead is not None:
                        return self._instead
                    step, given = work.send, None
        except StopIteration as last:
            ended = last.value
            if self.through is None:
                return last.value  # type: ignore[no-any-return]  # what the work returned
        except BaseException as error:
            if self.through is None or isinstance(error, GeneratorExit):
                raise
            ended = error
        return (yield from self.through(ended).__await__())

    def detach(
        self, go_on: Callable[[Awaitable[T]], Coroutine[Any, Any, T]], instead: T
    ) -> asyncio.Task[T] | None:
        """Let the awaiting task go, before this returns, with `instead` for a result.

        It must be called by the loop itself, in no task. `go_on` is a coroutine function that
        awaits the rest of the work; return its task. None where it must be tried again, since the
        work is about to go on.
        """
        assert self._awaiting is not None and self._instead is None
        waiter = _taken(self._waits_for, self._awaiting)
        if waiter is None:
            return None
        self._instead = instead
        loop = asyncio.get_running_loop()
        wake, context = waiter
        task = loop.create_task(go_on(self._rest()), context=context)
        done = loop.create_future()
        done.set_result(None)
        context.run(wake, done)
        return task

    @coroutine
    def _rest(self) -> Generator[Any, None, T]:
        """Do what is left of the work, from where it waits."""
        waits_for = self._waits_for
        waits_for._asyncio_future_blocking = True  # as `await` says it to a task
        step: Callable[[Any], Any]
        given: Any
        while True:
            try:
                yield waits_for
            except BaseException as error:
                step, given = self._work.throw, error
            else:
                step, given = self._work.send, None
            try:
                waits_for = step(given)
            except StopIteration as ended:
                return ended.value  # type: ignore[no-any-return]  # what the work returned


def _taken(future: Any, task: asyncio.Task[Any]) -> Waiter | None:
    """Take from a future what has this task go on; None where it has nothing of it (any more)."""
    if isinstance(future, JobFuture) and (waiter := future.take_waiter(task)) is not None:
        return waiter
    for callback, context in getattr(future, "_callbacks", None) or ():
        if getattr(callback, "__self__", None) is task:
            future.remove_done_callback(callback)
            return callback, context
    return None
