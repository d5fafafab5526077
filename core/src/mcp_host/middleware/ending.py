"""The calls that run, which end with an answer where the server must not wait for them."""

from __future__ import annotations

import asyncio
from typing import Any, TypeAlias

from ..errors import Unavailable

Task: TypeAlias = asyncio.Task[Any]


class ServerEnding(Unavailable):
    """The server ends, and the call had not ended by itself in time."""

    def __init__(self) -> None:
        super().__init__(
            "The server stopped before the call had ended", details={"reason": "stopping"}
        )


class RunningCalls:
    """Every call between its beginning and its answer, each in a task; on the host's loop."""

    def __init__(self) -> None:
        self._tasks: set[Task] = set()
        self._ended: set[Task] = set()

    def block(self) -> _Running:
        """Make the block of one call, in its task; `end` makes it raise `ServerEnding`."""
        task = asyncio.current_task()
        assert task is not None  # a call is a coroutine
        return _Running(task, self._tasks, self._ended)

    def end(self) -> None:
        """End every call that runs: its pack hears that it is cancelled."""
        for task in self._tasks - self._ended:
            self._ended.add(task)
            task.cancel()


class _Running:
    """The block of one call: each comes here, and a generator would take three times as long."""

    __slots__ = ("_ended", "_task", "_tasks")

    def __init__(self, task: Task, tasks: set[Task], ended: set[Task]) -> None:
        self._task = task
        self._tasks = tasks
        self._ended = ended

    def __enter__(self) -> None:
        self._tasks.add(self._task)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._tasks.discard(self._task)
        if self._task in self._ended:
            self._ended.discard(self._task)
            self._task.uncancel()
            if kind is asyncio.CancelledError:
                raise ServerEnding from None
