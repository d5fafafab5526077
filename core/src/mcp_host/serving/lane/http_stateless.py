"""The lane of HTTP without sessions: requests of 2026-07-28."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any

from ...declarations.context import Caller
from ...runtime.alarms import Alarms
from .asgi import Scope
from .exchange import AT_ONCE, ON_GONE, Exchange
from .http_headers import Headers
from .identity import Identify, Identity, as_known, known_in
from .lane import Lane
from .requests import NAMES, Envelopes, Usual, usual

MOST_KNOWN = 1000
"""Callers that are kept from one request to the next."""


class StatelessRequests:
    """Answers requests that belong to no session; the parameters are those of `HttpLane`.

    `_known` are the callers who present a token, as long as the same `_unknown` one is meant.
    """

    def __init__(
        self,
        lane: Lane,
        identify: Identify | None,
        statuses: Mapping[int, int],
        patience: float | None,
    ) -> None:
        self._lane = lane
        self._identify = identify
        self._statuses = statuses
        self._patience = patience
        self._envelopes = Envelopes(None)
        self._alarms = Alarms()
        self._unknown: Caller | None = None
        self._known: dict[Identity, Caller] = {}

    def begun(
        self, headers: Headers, given: dict[str, Any], scope: Scope, send: Any
    ) -> Awaitable[None] | None:
        """Return what answers a request; None where the lane does not take it."""
        request = usual(given)
        caller = self._caller(request, headers, scope) if request is not None else None
        if request is None or caller is None:
            return None
        exchange = Exchange(
            self._statuses,
            self._patience,
            self._alarms,
            send,
            scope[ON_GONE],
            scope.get(AT_ONCE),
        )
        return exchange.run(self._lane, request, caller)

    def _caller(self, request: Usual, headers: Headers, scope: Scope) -> Caller | None:
        """Return who sends a request that the lane takes; None where it does not."""
        key = NAMES.get(request.method)
        fits = (
            key is not None
            and headers.get(b"mcp-method") == request.method.encode()
            and _names(headers.get(b"mcp-name", b""), request.name)
        )
        caller = self._envelopes.caller(request.meta) if fits else None
        if caller is None or not self._lane.takes_headers(request):
            return None
        if self._identify is not None:
            known = known_in(headers, scope, self._identify)
            if known is None:
                return None
            caller = self._as_known(caller, known)
        return caller if self._lane.takes(request, caller) else None

    def _as_known(self, caller: Caller, known: Identity) -> Caller:
        """As `as_known`; the same few callers come again and again."""
        if caller is not self._unknown or len(self._known) >= MOST_KNOWN:
            self._unknown, self._known = caller, {}
        found = self._known.get(known)
        if found is None:
            found = self._known[known] = as_known(caller, known)
        return found


def _names(header: bytes, name: str) -> bool:
    """Whether a header names what the body does, with no spelling of its own."""
    return name.isascii() and header == name.encode() and not header.startswith(b"=?")
