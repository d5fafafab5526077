"""A page of a pack on this machine's loopback, until a signal comes."""

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ...errors import SettingsError
from .events import PageEvents
from .guard import PageGuard
from .messages import PageRequest, PageResponse

PageHandler: TypeAlias = Callable[[PageRequest], PageResponse]
_LONGEST_BODY = 1_048_576


class PageServer:
    """Serves one page at `/` and what it asks for, on 127.0.0.1 alone.

    `handlers` answer by method and path, as `("GET", "/data")`; a path may end in `{name}`, which
    then stands in the request's query. They are plain functions, called in threads. `/events` is
    the stream of `events`. `admit` sees each request first, and may answer in place of a handler:
    the page's own way to know who asks, a token for example.
    """

    def __init__(
        self,
        handlers: Mapping[tuple[str, str], PageHandler],
        events: PageEvents,
        admit: Callable[[PageRequest], PageResponse | None],
        port: int = 0,
    ) -> None:
        self.events = events
        self._admit = admit
        self._listening = _listen(port)
        self.port: int = self._listening.getsockname()[1]
        routes = [
            Route(path, self._endpoint(handler), methods=[method])
            for (method, path), handler in handlers.items()
        ]
        routes.append(Route("/events", self._events))
        # Imported here: who only looks at the public API loads no web server.
        import uvicorn

        config = uvicorn.Config(
            PageGuard(Starlette(routes=routes), self.port),
            log_level="error",
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def serve(self) -> None:
        """Answer until SIGINT or SIGTERM, or until `stop` is called in another thread."""
        try:
            with suppress(KeyboardInterrupt):  # which uvicorn raises again when it has ended
                self._server.run(sockets=[self._listening])
        finally:
            self.events.close()

    def stop(self) -> None:
        """End `serve`."""
        self._server.should_exit = True
        self.events.close()

    def _endpoint(self, handler: PageHandler) -> Callable[[Request], object]:
        async def answer(request: Request) -> Response:
            asked = await _asked(request)
            if asked is None:
                return Response("The request is too long.", 413, media_type="text/plain")
            done = self._admit(asked)
            if done is None:
                done = await run_in_threadpool(handler, asked)
            return Response(done.content, done.status, dict(done.headers), done.type)

        return answer

    async def _events(self, request: Request) -> Response:
        refused = self._admit(_without_body(request))
        if refused:
            return Response(refused.content, refused.status, media_type=refused.type)
        return StreamingResponse(self.events.stream(), media_type="text/event-stream")


async def _asked(request: Request) -> PageRequest | None:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _LONGEST_BODY:
            return None
    return replace(_without_body(request), body=body)


def _without_body(request: Request) -> PageRequest:
    query = {**request.query_params, **request.path_params}
    headers = {name.lower(): value for name, value in request.headers.items()}
    return PageRequest(request.method, request.url.path, query, request.cookies, b"", headers)


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(64)
    except OSError as error:
        listening.close()
        raise SettingsError(
            f"cannot listen on 127.0.0.1:{port}: {error.strerror or error}; choose another port "
            "(0 takes a free one)"
        ) from None
    return listening
