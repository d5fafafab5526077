"""The connections of the handshake era: how each can be reached, and what it asked for."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from typing import Any

from ..declarations.context import Caller, Level
from ..host import Host
from ..startup.usual import extensions, offered
from .requests import Ctx, headers, identity, is_modern

STDIO = "stdio"
CONNECTIONS = 10_000
"""How many are remembered; then the one that was quiet for longest is forgotten."""


class Connection:
    """One connection: how to reach it outside a call, and what it asked for.

    `session` and `caller` are None until the client has said that it is initialized.
    """

    def __init__(self, known_as: str = "") -> None:
        self.id = known_as or uuid.uuid4().hex
        self.session: Any = None
        self.caller: Caller | None = None
        self.level: Level = "debug"
        self.watched: set[str] = set()


class Connections:
    """Every connection by the session it belongs to; stdio is a session of its own.

    The host forgets what it knows of a connection that is forgotten here. `keeps_sessions` says
    that sessions are this server's own: in a stateless mode they are not. `stdio` is the id of the
    link over stdio, where it has one already: it stays the same whichever process serves it.
    """

    def __init__(self, host: Host, *, keeps_sessions: bool = True, stdio: str = "") -> None:
        self._host = host
        self._keeps_sessions = keeps_sessions
        self._stdio = stdio
        self._by_session: OrderedDict[str, Connection] = OrderedDict()

    def of(self, ctx: Ctx) -> Connection | None:
        """The connection of a request; None in the stateless era, and without a session."""
        if is_modern(ctx):
            return None
        session_id = headers(ctx).get("mcp-session-id") if ctx.request is not None else STDIO
        return None if session_id is None else self._remembered(session_id)

    def in_session(self, session_id: str) -> Connection:
        """The connection of a session over HTTP."""
        return self._remembered(session_id)

    @property
    def stdio(self) -> Connection:
        """The one connection of a client on standard input and output."""
        return self._remembered(STDIO)

    def reachable(self) -> list[Connection]:
        """The connections that take notifications."""
        return [found for found in self._by_session.values() if found.session is not None]

    def forget(self, session_id: str) -> None:
        """Remove the connection of a session that has ended."""
        self._end(self._by_session.pop(session_id, None))

    def caller(self, ctx: Ctx) -> Caller:
        """Who sent a request, and over which connection."""
        session = ctx.session
        info = session.client_params.client_info if session.client_params else None
        told = _told(session.client_capabilities)
        subject, scopes, offered_scopes = identity(ctx)
        return Caller(
            subject=subject,
            scopes=scopes,
            client=info.name if info else None,
            connection=self._id(ctx),
            protocol=ctx.protocol_version,
            offers=offered(told),
            extensions=extensions(told),
            offered=offered_scopes,
        )

    def _id(self, ctx: Ctx) -> str | None:
        """What proves that two calls come from one client: the stdio link, or a session that this
        server began. An address proves nothing, nor does a session id in a stateless mode."""
        if ctx.request is None:
            return self._remembered(STDIO).id
        connection = self.of(ctx) if self._keeps_sessions else None
        return connection.id if connection is not None else None

    def _remembered(self, session_id: str) -> Connection:
        connection = self._by_session.get(session_id)
        if connection is None:
            known_as = self._stdio if session_id == STDIO else ""
            connection = self._by_session[session_id] = Connection(known_as)
        self._by_session.move_to_end(session_id)
        if len(self._by_session) > CONNECTIONS:  # sessions that ended without a word
            self._end(self._by_session.popitem(last=False)[1])
        return connection

    def _end(self, connection: Connection | None) -> None:
        if connection is not None:
            self._host.left(f"connection:{connection.id}")
            self._host.watching.end_all(connection.watched)


def _told(capabilities: Any) -> dict[str, Any]:
    """What a client has told of itself, as plain data."""
    return capabilities.model_dump(exclude_none=True) if capabilities is not None else {}
