"""The edits that run, which the end of the service stops and waits for."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import StoppedError
from ..storage import Guard

_SECONDS = 2.0


class RunningEdits:
    """Counts edits: the program of a condition must not outlive the server."""

    def __init__(self) -> None:
        self._ending = threading.Event()
        self._changed = threading.Condition()
        self._now = 0

    @contextmanager
    def one(self, guard: Guard) -> Iterator[Guard]:
        """Run an edit; the guard that it is given refuses it at the end of the service as well."""

        def either() -> None:
            guard()
            if self._ending.is_set():
                raise StoppedError("The server ends; nothing was changed.", reason="stopped")

        self._count(1)
        try:
            yield either
        finally:
            self._count(-1)

    def end(self) -> None:
        """Stop the edits, and wait a little until they have ended."""
        self._ending.set()
        with self._changed:
            self._changed.wait_for(lambda: not self._now, _SECONDS)

    def _count(self, step: int) -> None:
        with self._changed:
            self._now += step
            self._changed.notify_all()
