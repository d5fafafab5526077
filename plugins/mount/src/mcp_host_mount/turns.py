"""Whose calls run at a server that asks its questions without saying for which call.

Calls of one caller run side by side; those of others wait, so that a question can only belong to a
caller whose call runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

Begin = Callable[[], None]


class Turns:
    """Lets the calls of one group in at a time, in the order in which groups came.

    Every method is called under the lock of whoever has it.
    """

    def __init__(self) -> None:
        self.group = ""
        self._inside = 0
        self._waiting: deque[tuple[str, Begin]] = deque()

    def enter(self, group: str, begin: Begin) -> bool:
        """Begin now, or when the turn comes; return whether it has begun."""
        if self._inside and (group != self.group or self._waiting):
            self._waiting.append((group, begin))
            return False
        self.group = group
        self._inside += 1
        begin()
        return True

    def leave_queue(self, begin: Begin) -> bool:
        """Wait no longer; return whether it waited."""
        for each in self._waiting:
            if each[1] == begin:
                self._waiting.remove(each)
                return True
        return False

    def leave(self) -> None:
        """Note that a call has ended, and let in who is next."""
        self._inside -= 1
        if self._inside or not self._waiting:
            return
        self.group = self._waiting[0][0]
        while self._waiting and self._waiting[0][0] == self.group:
            self._inside += 1
            self._waiting.popleft()[1]()
