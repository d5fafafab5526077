"""What is served beside the endpoint: how the host is."""

from __future__ import annotations

from collections import Counter
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from ....declarations.context import Caller
from ....host import Host
from ....packs.access import may_read
from .tokens import Verifier


class HealthRoutes:
    """`/healthz` and `/readyz`: counts for everybody, names for those whose token may read them."""

    def __init__(self, host: Host, verifier: Verifier) -> None:
        self._host = host
        self._verifier = verifier
        self.stopping = False

    async def alive(self, request: Request) -> JSONResponse:
        """200 until the host begins to stop."""
        status = 503 if self.stopping else 200
        return JSONResponse({"status": "stopping" if self.stopping else "ok"}, status)

    async def ready(self, request: Request) -> JSONResponse:
        """200 where no pack is being opened and one works, or none is enabled."""
        reports = self._host.report()
        states = Counter(report["state"] for report in reports)
        working = states["ready"] + states["degraded"]
        enabled = len(reports) - states["disabled"]
        is_ready = not self.stopping and not states["opening"] and (working or not enabled)
        answer: dict[str, Any] = {"ready": bool(is_ready), "packs": dict(states)}
        caller = Caller(scopes=await self._scopes(request))
        known = [r for r in reports if may_read("host", caller) or may_read(r["name"], caller)]
        if known:
            answer["details"] = known
        return JSONResponse(answer, 200 if is_ready else 503)

    async def _scopes(self, request: Request) -> frozenset[str]:
        """What the request's token allows; nothing without one."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        known = await self._verifier.verify_token(token) if scheme.lower() == "bearer" else None
        return frozenset(known.scopes if known else ())
