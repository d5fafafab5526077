"""The processor time that the calls of one process take, where that has a limit."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection
from pathlib import Path

LOOK = 0.2
"""Seconds between two looks at the processor time of calls."""


class ProcessorWatch:
    """Tells when a call in one process has taken more processor time than it may, in seconds.

    `limit` is that of one call; None watches nothing. What the process took between two looks is
    shared by the calls that ran then, whose numbers `running` gives; while there are any, it looks
    again. `on_over` is called once a call is over its limit, and nothing is watched from then on.
    """

    def __init__(
        self,
        pid: Callable[[], int],
        limit: float | None,
        running: Callable[[], Collection[int]],
        on_over: Callable[[], None],
    ) -> None:
        self._pid = pid
        self._limit = limit
        self._running = running
        self._on_over = on_over
        self._is_looking = False
        self._watched = 0
        self._seen = 0.0
        self._used: dict[int, float] = {}

    def begin(self) -> None:
        """Watch the calls from now on, until none runs any more."""
        if self._limit is not None and not self._is_looking:
            self._is_looking = True
            self._watched = self._pid()
            self._seen = _processor_seconds(self._watched)
            asyncio.get_running_loop().call_later(LOOK, self._look, self._limit)

    def _look(self, limit: float) -> None:
        running = self._running()
        if not running:
            self._is_looking = False
            return
        now = _processor_seconds(self._pid())
        if self._watched != self._pid():  # a program that was started meanwhile begins now
            self._watched, self._seen = self._pid(), now
        share = (now - self._seen) / len(running)
        self._seen = now
        self._used = {number: self._used.get(number, 0.0) + share for number in running}
        if any(used > limit for used in self._used.values()):
            self._on_over()
        else:
            asyncio.get_running_loop().call_later(LOOK, self._look, limit)


def _processor_seconds(pid: int) -> float:
    """Return the processor time of a process and of its programs that have ended; Linux alone."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, after_name[11:15])) / os.sysconf("SC_CLK_TCK")
