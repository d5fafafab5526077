"""Work that waits for the server's answers, done one after the other in a thread of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

Chore = Callable[[], None]


class Chores:
    """Does chores in the order in which they came, once it has begun; `say` hears of failures."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._waiting: queue.SimpleQueue[Chore | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="chores", daemon=True)

    def begin(self) -> None:
        """Begin with those that wait."""
        if not self._thread.is_alive():
            self._thread.start()

    def put(self, chore: Chore) -> None:
        """Have something done soon."""
        self._waiting.put(chore)

    def end(self) -> None:
        """Do no more than those that wait."""
        self._waiting.put(None)

    def _run(self) -> None:
        while (chore := self._waiting.get()) is not None:
            try:
                chore()
            except Exception as error:  # one chore must not end those that follow
                self._say(f"{type(error).__name__}: {error}")
