"""Threads for a pack's synchronous functions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue

from ..packs.threads import named_for

LONG = 1.0
"""Seconds after which a piece of work is remembered."""
LAST_LONG: dict[str, float] = {}
"""When the last long piece of work ended, by pack: it may have held the interpreter."""


class WorkerThreads:
    """Threads of one pack: made as needed, used again, never joined."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._idle = 0
        self._lock = threading.Lock()

    def post(self, job: Callable[[], None]) -> None:
        """Have a thread call the function."""
        with self._lock:
            start = self._idle == 0
            if not start:
                self._idle -= 1
        if start:
            entry = named_for(self._name, self._run)
            threading.Thread(target=entry, name=f"pack-{self._name}-sync", daemon=True).start()
        self._jobs.put(job)

    def stop(self) -> None:
        """Let every idle thread end."""
        with self._lock:
            for _ in range(self._idle):
                self._jobs.put(None)
            self._idle = 0

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            began = time.monotonic()
            job()
            if time.monotonic() - began > LONG:
                LAST_LONG[self._name] = time.monotonic()
            with self._lock:
                self._idle += 1
