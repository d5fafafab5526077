"""Collects garbage in a thread of its own, so that what dies holds nobody up.

An object's `__del__`, a weak reference's callback and `gc.callbacks` are code of a pack. The
interpreter runs them in whichever thread happens to have made one object too many, which would
often be the host's own.
"""

from __future__ import annotations

import gc
import threading
import time

PAUSE = 0.5
"""Seconds between two looks."""
SHARE = 0.01
"""How much of the time full collections may take, which look at every object there is."""

THRESHOLDS = gc.get_threshold()
"""Of the interpreter, before a pack may change them."""


class Collector:
    """Decides as the interpreter itself would, but when it looks and not at every new object."""

    def __init__(self) -> None:
        self._full_at = 0.0

    def start(self) -> None:
        """Take garbage collection over from the interpreter."""
        gc.disable()
        threading.Thread(target=self._run, name="collector", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(PAUSE)
            self.look()

    def look(self) -> None:
        """Collect the generation that is due, if one is."""
        due = [count > limit for count, limit in zip(gc.get_count(), THRESHOLDS, strict=True)]
        began = time.monotonic()
        if due[2] and began >= self._full_at:
            gc.collect(2)
            took = time.monotonic() - began
            self._full_at = began + took / SHARE
        elif due[1]:
            gc.collect(1)
        elif due[0]:
            gc.collect(0)
