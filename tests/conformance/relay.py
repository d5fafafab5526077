"""A relay between the suite and the host that writes down what each of them says.

The suite speaks HTTP only. What it says and hears here is the part that `replay.py` plays again
over stdio.
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

Message = dict[str, Any]
HEADER_MISMATCH = -32020
OF_THIS_HOP = {b"connection", b"transfer-encoding", b"keep-alive"}


@dataclass(eq=False)
class Exchange:
    """One HTTP request and what came back. A session's name arrives with its first answer."""

    verb: str
    session: str
    status: int = 0
    answers: list[Message] = field(default_factory=list)

    @property
    def refused(self) -> str | None:
        """Why HTTP itself refused it, which has no counterpart on stdio; None where it did not."""
        if self.status in (403, 421):
            return "a foreign Host or Origin header"
        if self.status == 404 and self.session:
            return "a session that had ended"
        if any(a.get("error", {}).get("code") == HEADER_MISMATCH for a in self.answers):
            return "a header that contradicts the body"
        return None


@dataclass(frozen=True)
class Line:
    """One message of a conversation; a client that hangs up says so with an empty one."""

    exchange: Exchange
    speaker: Literal["client", "server", "hung up"]
    message: Message = field(default_factory=dict)


class Relay:
    """Passes everything on unchanged, and keeps `lines` in the order a client came to know them."""

    def __init__(self, upstream: str) -> None:
        self.lines: list[Line] = []
        self._upstream = upstream
        self._client = httpx2.AsyncClient(timeout=None, trust_env=False)
        self._reading: set[asyncio.Task[None]] = set()
        self._deleted: set[str] = set()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """Serve on a free loopback port; yields the address (`127.0.0.1:port`)."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self._address = f"127.0.0.1:{listener.getsockname()[1]}"
            app = Starlette(
                routes=[Route("/{path:path}", self._pass_on, methods=["GET", "POST", "DELETE"])]
            )
            server = uvicorn.Server(
                uvicorn.Config(  # h11 takes the blanks off values, which its client would not send
                    app, http="h11", log_level="warning", timeout_graceful_shutdown=1
                )
            )
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            try:
                yield self._address
            finally:
                server.should_exit = True
                await serving
                await asyncio.gather(*self._reading)
                await self._client.aclose()

    async def _pass_on(self, request: Request) -> StreamingResponse:
        exchange = Exchange(request.method, request.headers.get("mcp-session-id", ""))
        if request.method == "DELETE":
            self._deleted.add(exchange.session)
        body = await request.body()
        if body:
            self.lines.append(Line(exchange, "client", json.loads(body)))
        response = await self._client.send(
            self._client.build_request(
                request.method,
                f"http://{self._upstream}{request.url.path}",
                headers=self._headers(request),
                content=body,
            ),
            stream=True,
        )
        exchange.status = response.status_code
        exchange.session = response.headers.get("mcp-session-id", exchange.session)
        answer = StreamingResponse(self._chunks(exchange, response), response.status_code)
        answer.raw_headers = [
            (name.lower(), value)
            for name, value in response.headers.raw
            if name.lower() not in OF_THIS_HOP
        ]
        return answer

    def _headers(self, request: Request) -> list[tuple[bytes, bytes]]:
        """The suite's headers; where they name the relay's own address they name the host's."""
        own, theirs = self._address.encode(), self._upstream.encode()
        return [
            (name, value.replace(own, theirs) if name in (b"host", b"origin") else value)
            for name, value in request.headers.raw
            if name not in OF_THIS_HOP
        ]

    async def _chunks(self, exchange: Exchange, response: httpx2.Response) -> AsyncIterator[bytes]:
        """Hand the answer on as it comes.

        A client that hangs up cancels its request in the era without sessions, so the host must see
        it; with a session the answer is only not listened to, and it is still written down.
        """
        chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        reading = asyncio.create_task(self._read(exchange, response, chunks))
        self._reading.add(reading)
        reading.add_done_callback(self._reading.discard)
        try:
            while (chunk := await chunks.get()) is not None:
                yield chunk
        finally:
            if not reading.done() and not exchange.session:
                reading.cancel()
                self.lines.append(Line(exchange, "hung up"))

    async def _read(
        self, exchange: Exchange, response: httpx2.Response, chunks: asyncio.Queue[bytes | None]
    ) -> None:
        text = ""
        streamed = response.headers.get("content-type", "").startswith("text/event-stream")
        try:
            async for chunk in response.aiter_raw():
                text += chunk.decode()
                if streamed:
                    *events, text = text.replace("\r\n", "\n").split("\n\n")
                    for event in events:
                        self._heard(exchange, _data(event))
                await chunks.put(chunk)
            if not streamed and text.startswith("{"):
                self._heard(exchange, text)
        except asyncio.CancelledError:
            pass  # the client hung up: nobody waits for the rest
        finally:
            await response.aclose()
            await chunks.put(None)
            ended = exchange.verb == "POST" and exchange.session in self._deleted
            if ended and not exchange.answers:
                # Its client took the session's name from the headers and deleted it at once.
                self.lines.append(Line(exchange, "hung up"))

    def _heard(self, exchange: Exchange, data: str) -> None:
        if data:
            exchange.answers.append(json.loads(data))
            self.lines.append(Line(exchange, "server", exchange.answers[-1]))


def _data(event: str) -> str:
    """The data of one server-sent event."""
    return "\n".join(_data_lines(event))


def _data_lines(event: str) -> Iterator[str]:
    for line in event.split("\n"):
        if line.startswith("data:"):
            yield line.removeprefix("data:").strip()
