"""The costliest answers of each caller, for the caller to see what takes up its model's context."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from datetime import UTC, datetime
from itertools import count
from typing import Any

from .words import cut

COSTLIEST = 10
CALLERS = 1000
"""The callers that are remembered; of more, those who called last."""
NAME_LENGTH = 200


class Usage:
    """The ten longest answers of each caller, by identity; `note` belongs to the host's loop."""

    def __init__(self) -> None:
        self._answers: OrderedDict[str, list[tuple[int, int, dict[str, Any]]]] = OrderedDict()
        self._turn = count()

    def note(self, identity: str, size: int, kind: str, name: str, pack: str, ms: float) -> None:
        """Take in an answer of so many bytes."""
        answers = self._answers.get(identity)
        if answers is None:
            answers = self._answers[identity] = []
            if len(self._answers) > CALLERS:
                self._answers.popitem(last=False)
        elif len(answers) == COSTLIEST and size <= answers[0][0]:
            return
        about = {
            kind: cut(name, NAME_LENGTH),
            "pack": pack,
            "bytes": size,
            "ms": round(ms, 1),
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        self._answers.move_to_end(identity)
        heapq.heappush(answers, (size, next(self._turn), about))
        if len(answers) > COSTLIEST:
            heapq.heappop(answers)

    def forget(self, identity: str) -> None:
        """Forget a caller whose connection has ended."""
        self._answers.pop(identity, None)

    def of(self, identity: str | None) -> list[dict[str, Any]]:
        """Return a caller's answers, the longest first; of one nobody can tell from others, none.

        May be called in any thread.
        """
        found = sorted(self._answers.get(identity or "", ()), reverse=True)
        return [about for _, _, about in found]
