"""One call at the server, and all that run."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..links import Message
from ..peer import number_of
from ..replies import Reply


@dataclass(eq=False, slots=True)
class Running:
    """One call at the server; `number` is the host's, and another where it comes again.

    `allowed` is what the server may ask for, beside questions to a person; the client
    `wants_progress`, or nobody is to hear how far it is.
    `question` is what the server waits for an answer to, and `ticket` what the host brings back
    with it. `more` are the questions that wait until that one is answered. `reply` is how the call
    ended while nobody waited. One that `is_out` has left its turn: while the server waits for its
    answer, no other question can be this call's.

    Invariants: while there is a `ticket`, the host is out for the answer to its `question`, which
    is None once the server no longer asks it. The calls change it under their lock.
    """

    number: int
    call: Mapping[str, Any]
    allowed: frozenset[str]
    wants_progress: bool
    token: int = 0
    request: int = 0
    question: Message | None = None
    more: deque[Message] = field(default_factory=deque)
    ticket: str = ""
    reply: Reply | None = None
    timer: threading.Timer | None = None
    is_out: bool = False
    begin: Callable[[], None] = field(default=lambda: None)

    @property
    def group(self) -> str:
        """Whose it is, as far as questions go: those who cannot be asked are as one."""
        return group_of(self.call, self.allowed)

    @property
    def offers(self) -> list[str]:
        """What its client can be asked."""
        offers: list[str] = self.call["caller"][5]
        return offers

    def wait(self, seconds: float, function: Callable[[], None]) -> None:
        """Have a function called after a time, unless something else happens before."""
        self.timer = threading.Timer(seconds, function)
        self.timer.daemon = True
        self.timer.start()

    def wait_no_more(self) -> None:
        """Take back what `wait` was told."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class InProgress:
    """The calls that have begun and not ended, each by a token that the server knows it by."""

    def __init__(self) -> None:
        self._tokens = itertools.count(1)
        self._running: dict[int, Running] = {}

    def __bool__(self) -> bool:
        return bool(self._running)

    def __iter__(self) -> Iterator[Running]:
        return iter(self._running.values())

    def add(self, running: Running) -> None:
        """Give a call its token."""
        running.token = next(self._tokens)
        self._running[running.token] = running

    def remove(self, running: Running) -> bool:
        """Note that a call has ended; return whether it had not before."""
        return self._running.pop(running.token, None) is not None

    def has(self, running: Running) -> bool:
        """Whether a call has not ended."""
        return running.token in self._running

    def of_token(self, token: object) -> Running | None:
        """Return the call that the server knows by a token."""
        number = number_of(token)
        return None if number is None else self._running.get(number)

    def of_number(self, number: int) -> Running | None:
        """Return the call that the host knows by a number."""
        return next((one for one in self if one.number == number), None)


def group_of(call: Mapping[str, Any], allowed: frozenset[str]) -> str:
    """Return whose a call is, as far as questions go: those who cannot be asked are as one."""
    subject, _, _, connection, _, offers, _ = call["caller"]
    if not any(each.startswith("elicitation") or each in allowed for each in offers):
        return "nobody can be asked"
    if connection is not None:
        return f"connection {connection}"
    return f"subject {subject}" if subject is not None else f"call {call['request_id']}"
