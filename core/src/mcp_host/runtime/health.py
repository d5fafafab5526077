"""How a pack at work is: what its opening, its own word and its abandoned calls make of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ..packs.conditions import OPENING, Condition

ABANDONED_PATIENCE = 1.0
"""Seconds after which abandoned calls that still run make their pack degraded."""


class Health:
    """A pack's condition, kept from what happens to it; every method belongs to the host's loop.

    `on_change` hears each condition that differs from the one before. What the pack says of itself
    counts only while it is open, what it offered in vain only where it says nothing, and abandoned
    calls last. `is_replaced_unopened` says that another took its place before it was decided.
    """

    def __init__(self, on_change: Callable[[Condition], None]) -> None:
        self._on_change = on_change
        self._opening = OPENING
        self._reported: Condition | None = None
        self._refused: Condition | None = None
        self._abandoned = 0
        self._is_stuck = False
        self._shown = OPENING
        self._decided = asyncio.Event()
        self.is_replaced_unopened = False

    @property
    def condition(self) -> Condition:
        """How the pack is now."""
        if self._opening.state != "ready":
            return self._opening
        if self._reported is not None:
            return self._reported
        if self._refused is not None:
            return self._refused
        if self._is_stuck:
            return Condition(
                "degraded",
                "calls_abandoned",
                f"{self._abandoned} of its calls run on after their deadline",
                "if it does not pass, restart the host and look at the pack's log",
            )
        return self._opening

    @property
    def is_open(self) -> bool:
        """Whether the pack has opened, and is not lost since."""
        return self._opening.state == "ready"

    async def decided(self) -> None:
        """Wait until the pack is open or has failed to open."""
        await self._decided.wait()

    def replaced(self) -> None:
        """Let nobody wait any more, and tell nobody: another takes the pack's place."""
        self._on_change = lambda _: None
        self.is_replaced_unopened = not self._decided.is_set()
        self._decided.set()

    def became(self, condition: Condition) -> None:
        """Note that the pack is opening, ready or failed; a failed one has nothing more to say."""
        self._opening = condition
        if condition.state == "failed":
            self._reported = self._refused = None
        if condition.state == "opening":
            self._decided.clear()
        else:
            self._decided.set()
        self._tell()

    def reported(self, condition: Condition | None) -> None:
        """Note what the pack says of itself: degraded, or (None) recovered."""
        self._reported = condition
        self._tell()

    def refused(self, condition: Condition | None) -> None:
        """Note that something which the pack offers cannot be served, or (None) that all is."""
        if condition != self._refused:
            self._refused = condition
            self._tell()

    def abandoned(self, count: int) -> None:
        """Note how many of the pack's calls were abandoned and still run."""
        if count > self._abandoned:
            asyncio.get_running_loop().call_later(ABANDONED_PATIENCE, self._look_at_abandoned)
        self._abandoned = count
        if count == 0:
            self._is_stuck = False
            self._tell()

    def _look_at_abandoned(self) -> None:
        if self._abandoned:
            self._is_stuck = True
            self._tell()

    def _tell(self) -> None:
        condition = self.condition
        if condition != self._shown:
            self._shown = condition
            self._on_change(condition)
