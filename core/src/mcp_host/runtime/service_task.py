"""Opens a pack's service and closes it, in one and the same task of the pack's loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any

from ..declarations.handle import PackHandle
from .loop import PackLoop
from .messages import Reason
from .side import reason


class ServiceTask:
    """The task that holds a pack's service open.

    `opened` and `closed` are futures of the host's loop, which never waits for the pack itself.
    Both give None where all went well, and else why it did not: in words, made on the pack's side.
    `service` belongs to the pack's side alone.

    Invariants: `opened` and `closed` are settled once each, and `opened` first. `_release`, `_task`
    and `_is_entered` change on the pack's loop alone.
    """

    def __init__(
        self,
        loop: PackLoop,
        opens: Callable[[PackHandle], AbstractAsyncContextManager[Any]],
        handle: PackHandle,
        errors: Mapping[type[BaseException], str],
    ) -> None:
        self._host = asyncio.get_running_loop()
        self._loop = loop
        self._opens = opens
        self._handle = handle
        self._errors = errors
        self.service: Any = None
        self.opened: asyncio.Future[Reason | None] = self._host.create_future()
        self.closed: asyncio.Future[Reason | None] = self._host.create_future()
        self._release: asyncio.Event | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_entered = False

    @property
    def is_open(self) -> bool:
        """Whether the service was opened and has not ended."""
        opened = self.opened
        is_there = opened.done() and not opened.cancelled() and opened.result() is None
        return is_there and not self.closed.done()

    def start(self) -> None:
        """Begin to open the service."""
        self._loop.post(self._begin)

    def let_go(self, *, and_stop: bool = False) -> None:
        """Close the service, or give up opening it; then end the loop if told so."""
        self._loop.post(self._let_go, and_stop)

    def _begin(self) -> None:
        self._release = asyncio.Event()
        self._task = self._loop.loop.create_task(self._keep())

    def _let_go(self, and_stop: bool) -> None:
        assert self._release is not None and self._task is not None  # _begin was posted before
        self._release.set()
        if not self._is_entered:
            self._task.cancel()
        if and_stop:
            self._task.add_done_callback(lambda _: self._loop.stop())

    async def _keep(self) -> None:
        assert self._release is not None
        try:
            async with self._opens(self._handle) as self.service:
                self._is_entered = True
                self._settle(self.opened, None)
                await self._release.wait()
        except BaseException as error:
            why = reason(error, self._errors)
            self._settle(self.opened, why)
            self._settle(self.closed, why)
        else:
            self._settle(self.closed, None)

    def _settle(self, future: asyncio.Future[Reason | None], why: Reason | None) -> None:
        def settle() -> None:
            if not future.done():
                future.set_result(why)

        with suppress(RuntimeError):  # the host's loop has ended
            self._host.call_soon_threadsafe(settle)
