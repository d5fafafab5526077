"""The shape of a worker: where a pack's side lives, and what the host may ask of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ..errors import McpHostError, Unavailable
from .mailbox import Said
from .messages import (
    Answered,
    CallMessage,
    Failed,
    Found,
    ProposalsMessage,
    Proposed,
    Reason,
    Reply,
)

ABANDONED_LIMIT = 32
"""Cancelled calls of one pack that may still run; with so many, further ones are `busy`."""
CHECK_TIMEOUT = 10.0
"""Seconds that one of a pack's checks may take."""


class ServiceError(McpHostError):
    """A pack's service could not be opened; `why` says it in words."""

    def __init__(self, why: Reason) -> None:
        super().__init__(why.reason)
        self.why = why


class CallLost(Unavailable):
    """The process that a call ran in ended before it had answered."""


class Worker(Protocol):
    """A pack's side as the host sees it; every method belongs to the host's loop.

    The host waits for none of them longer than it wants to: whatever the pack does, a cancelled
    method returns at once. What comes back is plain and bounded, whatever the pack made.
    """

    async def start(self) -> None:
        """Have a place where the pack lives; `ServiceError` says why there is none.

        Bounds itself: it ends also where the pack hangs.
        """

    async def open(self) -> None:
        """Open the service; `ServiceError` says why it cannot be."""

    async def lost(self) -> Reason:
        """Wait until the open service ends without being told to; return why it did."""

    def watched(self, uris: frozenset[str]) -> None:
        """Let the pack's handle know which of its resources clients watch now."""

    def publish(self, notices: Sequence[str]) -> None:
        """Have the pack's bus tell other processes; nothing where the pack is not open."""

    def drop(self) -> None:
        """Give the open or half-open service up; nobody waits until it lets go."""

    async def close(self, limit: float) -> None:
        """Close the service within `limit` seconds, and end the worker."""

    async def call(
        self,
        message: CallMessage,
        hear: Callable[[Said], None],
        at_once: Callable[[Answered], bool] | None = None,
    ) -> Reply:
        """Have a call run; `hear` is told what it says to its client, before the reply.

        That is in the host's loop, but for `Repeatable`, which may be told in any thread.

        A worker may give an answer to `at_once` in the thread where it was made, as soon as it is
        there and all that was said has been heard; it is returned all the same.
        When the caller is cancelled, cancel the call in the pack, and stop waiting for it. Raises
        `Busy` where too many abandoned calls still run, and `Unavailable` where the pack is closed.
        """

    def forget(self, key: str) -> None:
        """Let something go that the pack offered: nothing asks for it any more."""

    async def propose(self, message: ProposalsMessage) -> Proposed | Failed:
        """Have an argument's function propose values; as `call`."""

    async def check(self) -> list[Found]:
        """Have the pack's own checks run, one after the other; as `call`."""
