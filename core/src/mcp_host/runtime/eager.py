"""Tasks that begin at once: what they do before they first wait costs no turn of the loop."""

from __future__ import annotations

import asyncio
import contextvars
import sys
from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")


def start(
    work: Coroutine[Any, Any, T], context: contextvars.Context | None = None
) -> asyncio.Task[T]:
    """Make a task in the running loop, and run its work at once as far as it gets.

    As the eager start of Python 3.12, but that on 3.11 the task of work which never waits is done
    one turn later. `context` is what the work runs in, a copy of the caller's unless given.
    """
    loop = asyncio.get_running_loop()
    if sys.version_info >= (3, 12):
        return asyncio.Task(work, loop=loop, context=context, eager_start=True)
    within = context or contextvars.copy_context()
    begun = _Begun(work)
    task: asyncio.Task[T] = asyncio.Task(begun, loop=loop, context=within)
    within.run(begun.begin, loop, task)
    return task


class _Begun(Coroutine[Any, Any, T]):
    """A coroutine that has run as far as it got, for its task to go on with.

    From `begin` until the task's first step either `_awaited` is what the coroutine waits for, or
    `_end` how it ended; afterwards `_is_passed_on`. The rest is the coroutine's, so that whoever
    inspects the task's coroutine finds it.
    """

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work
        self._awaited: Any = None
        self._end: BaseException | None = None
        self._is_passed_on = False

    def begin(self, loop: asyncio.AbstractEventLoop, task: asyncio.Task[T]) -> None:
        """Run as far as it gets, as the task (the documentation of asyncio, "Extending")."""
        outer = asyncio.current_task(loop)
        if outer is not None:
            asyncio.tasks._leave_task(loop, outer)
        asyncio.tasks._enter_task(loop, task)
        try:
            self._awaited = self._work.send(None)
        except BaseException as end:  # the task raises it
            self._end = end
        finally:
            asyncio.tasks._leave_task(loop, task)
            if outer is not None:
                asyncio.tasks._enter_task(loop, outer)

    def send(self, value: Any) -> Any:
        if self._is_passed_on:
            return self._work.send(value)
        return self._pass_on()

    def throw(self, *error: Any) -> Any:
        if self._is_passed_on:
            return self._work.throw(*error)
        if self._end is None:  # the task was cancelled before it could pass that on
            self._is_passed_on = not (
                isinstance(self._awaited, asyncio.Future) and self._awaited.cancel()
            )
            if self._is_passed_on:
                return self._work.throw(*error)
        return self._pass_on()

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, T]:
        return self._work.__await__()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)

    def _pass_on(self) -> Any:
        self._is_passed_on = True
        awaited, self._awaited = self._awaited, None
        end, self._end = self._end, None
        if end is not None:
            raise end
        return awaited
