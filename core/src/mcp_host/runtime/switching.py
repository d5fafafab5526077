"""How long a thread may hold the interpreter while another waits for it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from .interval import LONG
from .loop import PackLoop

if sys.platform == "linux":
    from .one_processor import OneProcessor

MANY = 8
"""Calls that run at once, from which on they rather end soon than begin soon."""
BRIEF = 0.001
"""Seconds of processor time that a call may take of its pack's loop, on the average."""
ASIDE = 0.05
"""The share of a processor that a thread may take without counting."""


class SwitchInterval:
    """Finds the interval for the time to come, from what the process did since the last look.

    It is `short` as a rule, so that a thread that computes holds up no answer. While many calls run
    on the packs' loops, each for a moment, and nothing else computes, loops that take the
    interpreter from each other in the middle of a call have it change processors for nothing: then
    it is `LONG`, and on Linux they and the host's thread are held on one processor. `loops` are
    those of the packs. Made in the host's thread, it looks in one other.
    """

    def __init__(self, short: float, loops: Callable[[], Iterable[PackLoop]]) -> None:
        self._short = short
        self._loops = loops
        self._main = threading.get_native_id()
        self._looked_at = time.monotonic()
        self._used: dict[int, float] = {}
        self._ended: dict[int, int] = {}
        self._used_in_all = time.process_time()
        if sys.platform == "linux":
            self._processor = OneProcessor()

    def look(self) -> float:
        """Return the seconds; the short ones where the system does not tell what threads use."""
        try:
            is_long = self._are_brief()
        except OSError:
            is_long = False
        if sys.platform == "linux":
            loops = [loop.affinity for loop in self._loops() if is_long and loop.affinity]
            self._processor.hold(loops)
        return LONG if is_long else self._short

    def _are_brief(self) -> bool:
        now, used_in_all = time.monotonic(), time.process_time()
        free = ASIDE * (now - self._looked_at)
        used_aside = used_in_all - self._used_in_all - self._used_by(self._main)
        self._looked_at, self._used_in_all = now, used_in_all
        running, are_brief = 0, True
        for loop in self._loops():
            try:
                used, ended = self._used_by(loop.thread), self._ended_on(loop)
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has just ended
            used_aside -= used
            running += loop.jobs
            are_brief &= used <= max(free, BRIEF * ended)
        return running >= MANY and are_brief and used_aside <= free

    def _used_by(self, thread: int) -> float:
        """Processor time of a thread since the last look."""
        text = Path(f"/proc/self/task/{thread}/schedstat").read_text(encoding="ascii")
        used = int(text.split()[0]) / 1e9
        before, self._used[thread] = self._used.get(thread, 0.0), used
        return used - before

    def _ended_on(self, loop: PackLoop) -> int:
        """Calls that ended on a loop since the last look."""
        before, self._ended[loop.thread] = self._ended.get(loop.thread, 0), loop.ended
        return loop.ended - before
