"""Calls whose server waits for an answer of its caller."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from secrets import token_hex

from ..links import Message
from ..peer import METHOD_NOT_FOUND, Peer
from .running import Running

NOBODY = "no client can be asked now"
PARKED = 32
"""The most calls that wait for a person at once."""
MORE = 16
"""The most questions of one call that wait behind another of it."""


class Parked:
    """Calls that wait for a person, each by a ticket; `on_expired` hears of one nobody answered.

    Every method is called under the lock of whoever has it; so is `on_expired`'s work its own.
    """

    def __init__(self, seconds: float, on_expired: Callable[[str], None]) -> None:
        self._seconds = seconds
        self._on_expired = on_expired
        self._parked: dict[str, Running] = {}

    def __bool__(self) -> bool:
        return bool(self._parked)

    @property
    def is_full(self) -> bool:
        """Whether no other call may wait."""
        return len(self._parked) >= PARKED

    def park(self, running: Running, question: Message) -> None:
        """Have a call wait for the answer to a question of the server."""
        running.question, running.ticket = question, token_hex(16)
        self._parked[running.ticket] = running
        running.wait(self._seconds, partial(self._on_expired, running.ticket))

    def take(self, ticket: str) -> Running | None:
        """Return the call of a ticket, which waits no longer; None where there is none."""
        running = self._parked.pop(ticket, None)
        if running is not None:
            running.ticket = ""
            running.wait_no_more()
        return running

    def end(self) -> None:
        """Wait for nobody any more."""
        for running in self._parked.values():
            running.wait_no_more()


def give(peer: Peer, question: Message, answer: object) -> None:
    """Give the server the answer to its question; it is refused where there is none."""
    if isinstance(answer, dict):
        peer.answer(question, answer)
    else:
        peer.refuse(question, METHOD_NOT_FOUND, NOBODY)


def give_none(peer: Peer, question: Message) -> None:
    """Tell the server that nobody has answered its question."""
    is_form = question["method"] == "elicitation/create"
    give(peer, question, {"action": "cancel"} if is_form else None)
