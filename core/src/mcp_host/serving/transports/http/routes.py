"""What is served beside the endpoint: how the host is."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ....declarations.context import Caller
from ....host import Host
from ....packs.access import may_read
from .errors import IssuerUnreachableError
from .tokens import Verifier

RETRY_AFTER = 1
"""Seconds after which it is worth asking again a server that cannot serve, or one in its place."""
STILL_SERVING = frozenset(
    ("calls_abandoned", "not_set_up", "name_clash", "name_invalid", "declaration_invalid")
)
"""Codes of packs that are degraded and serve all the same; with any other, they say themselves that
something which they need is away."""


class HealthRoutes:
    """`/healthz` and `/readyz`: counts for everybody, names for those whose token may read them."""

    def __init__(self, host: Host, verifier: Verifier) -> None:
        self._host = host
        self._verifier = verifier
        self.stopping = False
        self._decided: set[str] = set()

    async def alive(self, request: Request) -> JSONResponse:
        """200 until the host begins to stop."""
        status = 503 if self.stopping else 200
        return _answer({"status": "stopping" if self.stopping else "ok"}, status)

    async def ready(self, request: Request) -> JSONResponse:
        """200 where every required pack serves, and of the others one that is open, if any is."""
        reports = self._host.report()
        states = Counter(report["state"] for report in reports)
        is_ready = not self.stopping and self._serves(reports)
        answer: dict[str, Any] = {"ready": bool(is_ready), "packs": dict(states)}
        caller = Caller(scopes=await self._scopes(request))
        known = [r for r in reports if may_read("host", caller) or may_read(r["name"], caller)]
        if known:
            answer["details"] = known
        return _answer(answer, 200 if is_ready else 503)

    async def metrics(self, request: Request) -> Response:
        """What Prometheus reads; where tokens are wanted, for those that may read the host."""
        from ...metrics import as_text

        if self._host.settings.http.is_authenticated:
            scopes = await self._scopes(request)
            if not may_read("host", Caller(scopes=scopes)):
                return Response(status_code=403 if scopes else 401)
        text, kind = await asyncio.to_thread(as_text)
        return Response(text, headers={"Content-Type": kind})

    def _serves(self, reports: Sequence[Mapping[str, Any]]) -> bool:
        """Whether what must serve does; of packs that need not, those count that were opened once.

        One that is tried again after it has failed is `opening` for a while, and waited for no
        more.
        """
        packs, is_open = self._host.packs, []
        for report in reports:
            name, state = report["name"], report["state"]
            if state == "disabled":
                continue
            if state != "opening":
                self._decided.add(name)
            is_required = name == self._host.alone or packs[name].table.required
            if is_required and not _serves(report):
                return False
            if name not in self._decided:
                return False
            is_open.append(state in ("ready", "degraded"))
        return any(is_open) or not is_open

    async def _scopes(self, request: Request) -> frozenset[str]:
        """What the request's token allows; nothing without one, nor where nobody can say."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return frozenset()
        with suppress(IssuerUnreachableError):
            known = await self._verifier.verify_token(token)
            return frozenset(known.scopes if known else ())
        return frozenset()


def _answer(told: dict[str, Any], status: int) -> JSONResponse:
    headers = {"Retry-After": str(RETRY_AFTER)} if status == 503 else None
    return JSONResponse(told, status, headers)


def _serves(report: Mapping[str, Any]) -> bool:
    """Whether a pack can do what it is there for."""
    state, code = report["state"], report.get("code", "")
    return state == "ready" or (state == "degraded" and code in STILL_SERVING)
