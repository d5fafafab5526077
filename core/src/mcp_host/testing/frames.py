"""What a server process writes: frames to its output, and lines to standard error."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

WAIT = 30.0
"""Seconds that a test waits for a server, at most."""


class ServerExited(AssertionError):
    """The server ended while an answer was awaited."""


class ServerFrames:
    """All that one server process has written, sorted as it comes.

    Two tasks read as long as the process runs: an answer ends the future in `_waiting` that has its
    id, a notification goes to `notifications`, a question to `ask`, and everything else to
    `others`; standard error goes to `_stderr`. Whoever waits for one of these is woken by `_news`.
    Where the process ends, every future in `_waiting` fails with `ServerExited`.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        ask: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        self.notifications: list[dict[str, Any]] = []
        self.others: list[dict[str, Any]] = []
        self._process = process
        self._ask = ask
        self._waiting: dict[str | int, asyncio.Future[dict[str, Any]]] = {}
        self._news = asyncio.Condition()
        self._stderr = bytearray()
        self._tasks = [
            asyncio.create_task(self._read_out()),
            asyncio.create_task(self._read_err()),
        ]

    @property
    def stderr(self) -> str:
        """What the server wrote to standard error so far."""
        return self._stderr.decode("utf-8", "replace")

    def answer(self, request_id: int) -> asyncio.Future[dict[str, Any]]:
        """Expect an answer of this id; the future is ended by it."""
        future = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = future
        return future

    async def until(self, is_there: Callable[[], bool]) -> None:
        """Wait until something is there, which is asked whenever something has come."""
        async with asyncio.timeout(WAIT), self._news:
            await self._news.wait_for(is_there)

    async def ended(self) -> None:
        """Wait until all that the process wrote is read."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def stop(self) -> None:
        """Read no further."""
        for task in self._tasks:
            task.cancel()

    async def _read_out(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            await self._take(json.loads(line))
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ServerExited(f"the server ended; it said: {self.stderr}"))

    async def _read_err(self) -> None:
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(65536):
            async with self._news:
                self._stderr += chunk
                self._news.notify_all()

    async def _take(self, frame: dict[str, Any]) -> None:
        if "method" in frame and "id" in frame:
            await self._ask(frame)
            return
        async with self._news:
            if "method" in frame:
                self.notifications.append(frame)
            elif frame.get("id") in self._waiting:
                future = self._waiting.pop(frame["id"])
                if not future.cancelled():  # whoever asked waits no more
                    future.set_result(frame)
            else:
                self.others.append(frame)
            self._news.notify_all()
