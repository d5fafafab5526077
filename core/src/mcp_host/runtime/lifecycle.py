"""A pack from its opening to its end: opened, tried again after a failure, noticed when lost.

Nothing of a pack runs on the host's loop. The host hands work to the pack's worker and waits for it
only as long as the call's deadline allows; what still runs then is abandoned and counted.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace

from ..packs.conditions import READY, Condition
from ..startup.dataclass import dataclass
from .health import Health
from .messages import Reason
from .worker import ServiceError, Worker

log = logging.getLogger("mcp_host.packs")

LAST_RETRY = 300.0
"""The longest pause in seconds before a pack that failed is tried again."""
FIRST_RESTART = 1.0
"""The first pause in seconds before a pack is started again whose process ended."""


@dataclass(frozen=True)
class Limits:
    """Seconds for a pack's opening and closing, and until it is tried again after a failure.

    `retry_after` is None for a pack that is not tried again, as when the host ends without it.
    """

    open: float
    close: float
    retry_after: float | None


class Lifecycle:
    """Opens one pack and keeps it open; its methods belong to the host's loop.

    `hint` is what to do where a pack fails in a way that it has not declared. Where settings are
    read again another may take its place: then calls that are here are made here, to their end.
    One that is `held` is not opened before somebody has it `begin`.
    """

    def __init__(
        self, name: str, worker: Worker, health: Health, limits: Limits, *, hint: str = ""
    ) -> None:
        self.name = name
        self.worker = worker
        self.health = health
        self._limits = limits
        self._hint = hint
        self._pause: float | None = None
        self._opened_at = 0.0
        self._inside = 0
        self._empty = asyncio.Event()
        self._empty.set()
        self._may_begin = asyncio.Event()
        self._may_begin.set()

    async def run(self) -> None:
        """Open the pack, and after a failure again and again, ever more rarely; until cancelled.

        A service that ends while it is open, since a background task of it died, is a failure too.
        """
        await self._may_begin.wait()
        while True:
            if await self._open():
                await self._lost()
            if self._pause is None:
                return
            await asyncio.sleep(self._pause)

    def hold(self) -> None:
        """Do not open the pack before `begin`."""
        self._may_begin.clear()

    def begin(self) -> None:
        """Open the pack, if it was held."""
        self._may_begin.set()

    @property
    def has_begun(self) -> bool:
        """Whether the pack is being opened, or was."""
        return self._may_begin.is_set()

    async def begun(self) -> None:
        """Wait until the pack may be opened."""
        await self._may_begin.wait()

    async def unused(self) -> None:
        """Wait until the pack is open or has failed to be, and no call is here."""
        await self.health.decided()
        await self._empty.wait()

    def enter(self) -> None:
        """Count a call that is going to be made, or is made, here."""
        if not self._inside:
            self._empty.clear()
        self._inside += 1

    def leave(self) -> None:
        """Count it no more."""
        self._inside -= 1
        if not self._inside:
            self._empty.set()

    def replaced(self) -> None:
        """Take no more calls: another takes this one's place."""
        self.health.replaced()

    async def drained(self) -> None:
        """Wait until the last call has left, once it is replaced."""
        await self._empty.wait()

    async def close(self) -> None:
        """Close the pack in the task that opened it."""
        await self.worker.close(self._limits.close)

    async def _open(self) -> bool:
        try:
            await self.worker.start()
            async with asyncio.timeout(self._limits.open):
                await self.worker.open()
        except asyncio.CancelledError:
            self.worker.drop()
            raise
        except ServiceError as error:
            why = error.why
            if not why.expected:
                trace = {"traceback": why.traceback}
                log.warning("pack %s could not be opened: %s", self.name, why.reason, extra=trace)
            self._fail(why.code or "open_failed", self._with_hint(why))
            return False
        except TimeoutError:
            reason = f"it did not open within {self._limits.open:g} s"
            remedy = "look at what its `mcp_host_open` waits for"
            self._fail("open_timeout", Reason(reason, remedy))
            return False
        self._opened_at = time.monotonic()
        self.health.became(READY)
        return True

    async def _lost(self) -> None:
        """Wait until the service, or the process it is in, ends by itself, and say so."""
        why = await self.worker.lost()
        trace = {"traceback": why.traceback}
        log.warning("pack %s ended by itself: %s", self.name, why.reason, extra=trace)
        reason = why.reason if why.code else f"what it had opened ended by itself: {why.reason}"
        known = Reason(reason, self._with_hint(why).remedy, code=why.code)
        if time.monotonic() - self._opened_at > LAST_RETRY:
            self._pause = None
        self._fail(why.code or "service_lost", known)

    def _with_hint(self, why: Reason) -> Reason:
        return why if why.expected or why.remedy else replace(why, remedy=self._hint)

    def _fail(self, code: str, why: Reason) -> None:
        self.worker.drop()
        pause = self._pause = self._next_pause(why)
        again = "" if pause is None else f"it is tried again in {pause:g} s"
        remedy = "; ".join(filter(None, (why.remedy, again)))
        is_retried = pause is not None
        self.health.became(Condition("failed", code, why.reason, remedy, is_retried))

    def _next_pause(self, why: Reason) -> float | None:
        """Return the seconds until the pack is tried again: twice as many after each failure."""
        first = self._limits.retry_after
        if first is None:
            return None
        if self._pause is not None:
            return min(self._pause * 2, LAST_RETRY)
        return min(first, FIRST_RESTART) if why.code else first
