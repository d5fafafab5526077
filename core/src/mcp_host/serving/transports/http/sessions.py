"""The sessions of the handshake era: how many there may be, and what each waits for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.streamable_http import EventCallback, EventStore
from mcp_types import JSONRPCError, JSONRPCResponse

from ....errors import Busy
from ....settings.tables import HttpTable
from ...borrowed.sdk import SessionUse
from ...connections import Connection, Connections
from ...lane.requests import Id
from ...lane.sessions import BegunCall
from .replay import Replay, ReplayBudget

Owner: TypeAlias = tuple[str | None, str] | None
"""Who began a session: issuer and subject; None without a token."""


RETRY_AFTER = 5
"""Seconds after which it is worth trying again to begin a session."""


def owner_of(known: AuthorizationContext | None) -> Owner:
    """The owner that a token proves."""
    if known is None:
        return None
    return known["issuer"], known["subject"] or known["client_id"]


class TooManySessions(Busy):
    """No further session is begun; `of_subject` says whether the caller itself has too many."""

    def __init__(self, message: str, *, of_subject: bool, suggestion: str) -> None:
        details = {"reason": "too_many_sessions", "retry_after": RETRY_AFTER}
        super().__init__(message, suggestions=[suggestion], details=details)
        self.of_subject = of_subject


class HttpSession(EventStore):
    """One session: who began it, what it may fetch again, and which requests are not answered.

    The SDK tells an event store every message to the client, so this is where an answer is seen.
    `begun` are the calls that the lane began, by id. `connection`, `use` and `hold` are for a
    session that has begun.
    """

    def __init__(self, owner: Owner, replay: Replay) -> None:
        self.owner = owner
        self.in_flight: set[str] = set()
        self.begun: dict[Id, BegunCall] = {}
        self._replay = replay
        self._connection: Callable[[], Connection] | None = None
        self.use: SessionUse | None = None

    def begin(self, connection: Callable[[], Connection], use: SessionUse) -> None:
        """Be the session of this connection."""
        self._connection, self.use = connection, use

    @property
    def connection(self) -> Connection:
        """The session's connection."""
        assert self._connection is not None  # `begin` was called
        return self._connection()

    def hold(self) -> bool:
        """Keep the session from ending for want of use; False where it ends already."""
        return self.use is not None and self.use.begin()

    def release(self) -> None:
        """Let the session end again when it is not used."""
        if self.use is not None:
            self.use.end()

    async def store_event(self, stream_id: str, message: Any) -> str:
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self.in_flight.discard(stream_id)
        return await self._replay.store_event(stream_id, message)

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        return await self._replay.replay_events_after(last_event_id, send_callback)

    def close(self) -> None:
        """End what the lane has begun, and forget what was kept for the client."""
        for call in list(self.begun.values()):
            call.session_ended()
        self._replay.close()


class Sessions:
    """All sessions by their id, within the numbers that the settings allow.

    Callers without a token are one subject.
    """

    def __init__(self, http: HttpTable, connections: Connections) -> None:
        self._limits = http.limits
        self._idle = http.session_idle_timeout
        self._connections = connections
        self._budget = ReplayBudget(http.limits.replay_bytes_total)
        self._by_id: dict[str, HttpSession] = {}
        self._owned: Counter[Owner] = Counter()

    def find(self, session_id: str, owner: Owner) -> HttpSession | None:
        """The session of that id which this caller began."""
        session = self._by_id.get(session_id)
        return session if session is not None and session.owner == owner else None

    def of_subject(self, session_id: str, subject: str | None) -> HttpSession | None:
        """As `find`, of a token of the settings' own; None where there are no tokens."""
        return self.find(session_id, None if subject is None else (None, subject))

    def admit(self, known: AuthorizationContext | None) -> HttpSession:
        """A new session of this caller; `TooManySessions` where it may have no more."""
        owner = owner_of(known)
        limits = self._limits
        ends = f"one that was not used for {self._idle:g} s ends by itself"
        if self._owned[owner] >= limits.sessions:
            who = f'"{owner[1]}" has' if owner is not None else "Callers without a token have"
            raise TooManySessions(
                f"{who} {limits.sessions} open sessions, and [http.limits] sessions allows no more",
                of_subject=True,
                suggestion=f"End a session with DELETE when it is done; {ends}",
            )
        if len(self._by_id) >= limits.sessions_total:
            raise TooManySessions(
                f"{limits.sessions_total} sessions are open, and [http.limits] sessions_total "
                "allows no more",
                of_subject=False,
                suggestion=f"Try again later: {ends}",
            )
        return HttpSession(owner, Replay(limits.replay_bytes, self._budget))

    def began(self, session_id: str, session: HttpSession, use: SessionUse) -> None:
        """Keep a session that was admitted and now has an id."""
        session.begin(partial(self._connections.in_session, session_id), use)
        self._by_id[session_id] = session
        self._owned[session.owner] += 1

    def ended(self, session_id: str) -> None:
        """Forget a session."""
        session = self._by_id.pop(session_id, None)
        if session is None:
            return
        self._owned[session.owner] -= 1
        if not self._owned[session.owner]:
            del self._owned[session.owner]
        session.close()
        self._connections.forget(session_id)
