"""Who may ask a local page anything: no other name, no other site; and what it may load."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# All that a page shows is its own: no other address is asked for anything, nothing is inline, and
# no other page can frame it or read it.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "media-src data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_NAMES = ("127.0.0.1", "localhost", "[::1]")


class PageGuard:
    """Checks Host, Origin and where a request comes from, before anything else sees it, and gives
    every answer the headers that keep other sites out."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}" for name in _NAMES}
        if port == 80:
            self._hosts.update(_NAMES)
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._hosts:
            return PlainTextResponse("Misdirected request: unknown Host", 421)
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in self._origins:
            return PlainTextResponse("Forbidden: unknown Origin", 403)
        if scope["method"] not in ("GET", "HEAD") and origin is None:
            return PlainTextResponse("Forbidden: a change needs an Origin", 403)
        # A link elsewhere may lead to the page, and do no more than show it.
        is_foreign = headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
        if is_foreign and not (scope["method"] == "GET" and scope["path"] == "/"):
            return PlainTextResponse("Forbidden: another site asked for it", 403)
        return None
