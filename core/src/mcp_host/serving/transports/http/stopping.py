"""What a server that ends answers: another one may take what it refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from starlette.types import ASGIApp, Receive, Scope, Send

from ....errors import Unavailable
from ...addresses import PATH
from .refusals import come_again
from .routes import RETRY_AFTER


class Refusal:
    """Refuses requests to the endpoint once told to; those that run end as ever.

    Nothing of what is refused has begun, so that whoever balances the load may send it elsewhere.
    `nothing_runs` is set once it refuses and no request waits for its answer.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._is_refusing = False
        self._running = 0
        self.nothing_runs = asyncio.Event()

    def begin(self) -> None:
        """Refuse requests from now on."""
        self._is_refusing = True
        if not self._running:
            self.nothing_runs.set()

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] == "GET":
            return self._app(scope, receive, send)  # a stream of a GET ends with the server
        if self._is_refusing:
            details = {"reason": "stopping", "retry_after": RETRY_AFTER}
            error = Unavailable(
                "This server is stopping and takes no more requests", details=details
            )
            return come_again(503, None, error, Connection="close")(scope, receive, send)
        return self._count(scope, receive, send)

    async def _count(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._running += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._running -= 1
            if self._is_refusing and not self._running:
                self.nothing_runs.set()
