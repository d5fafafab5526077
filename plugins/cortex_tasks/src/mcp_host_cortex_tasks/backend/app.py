"""The application: routes, their rules, and what they share."""

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import people, projects, work
from .access import PREFIX
from .logins import Passwords, Tokens
from .tables import open_database

MAX_BODY = 1024 * 1024


def make_app(database: str, secret: str, *, registration: bool = True) -> FastAPI:
    """Return the Cortex API over a database; `secret` signs its tokens."""
    app = FastAPI(title="Cortex", docs_url=None, redoc_url=None)
    app.state.engine = open_database(database)
    app.state.tokens = Tokens(secret)
    passwords = Passwords()
    people_routes = people.make_router(passwords, app.state.tokens, registration=registration)
    app.include_router(people_routes, prefix=PREFIX)
    app.include_router(projects.make_router(), prefix=PREFIX)
    app.include_router(work.make_router(), prefix=PREFIX)
    app.add_middleware(BodyLimit)
    app.add_exception_handler(RequestValidationError, _invalid)
    return app


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    """FastAPI's list of what is wrong, without the input: it may be a password, or be no text."""
    assert isinstance(error, RequestValidationError)
    told = [{key: of[key] for key in ("type", "loc", "msg")} for of in error.errors()]
    return JSONResponse({"detail": told}, 422)


class BodyLimit:
    """Refuses a request whose body is larger than any task can be."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on while its body stays small; end one that grows beyond."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = b""
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message.get("body", b"")
            if len(body) > MAX_BODY:
                await _too_large(send)
                return
            if not message.get("more_body"):
                break
        waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return waiting.pop() if waiting else await receive()

        await self._app(scope, replay, send)


async def _too_large(send: Send) -> None:
    body = b'{"detail": "The request is too large"}'
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
