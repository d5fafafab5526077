"""A server at an address: the SDK's transports carry the messages, in a loop of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.inbound import encode_header_value
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import jsonrpc_message_adapter

from .links import LinkError, Message
from .login.auth import LoginAuth
from .model import STATELESS

REACHED = 20.0
"""Seconds until an address must have let us in."""
LONGEST_EVENT = 32 * 1024 * 1024
CLOSING = 3.0
KEY = "io.modelcontextprotocol/"
NOT_FOUND = 404
UNAUTHORIZED = 401
HIDES_STATUS = "Server returned an error response"
"""What the SDK's transport says of an answer whose body is none of JSON-RPC."""
FALLS_BACK = frozenset((400, 404, 405, 406, 415))
"""What an address answers that only speaks the older transport."""


class HttpLink:
    """The connection to a server at an address; as `StdioLink`.

    `headers` and the token of `login` go to that address alone: the SDK's transports follow no
    redirect to another origin.

    Invariants: `_loop` runs in `_thread` alone, which changes `_status` and `_why`; from when it is
    made, `_write` takes messages. `_is_closing` never changes back. `on_end` is called once, and
    nothing is heard after it.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        transport: str | None,
        login: LoginAuth | None,
        hear: Callable[[Message], None],
        on_end: Callable[[str], None],
    ) -> None:
        self._url = url
        self._headers = dict(headers)
        self._transport = transport
        self._login = login
        self._hear = hear
        self._on_end = on_end
        self._loop = asyncio.new_event_loop()
        self._write: Any = None
        self._stop = asyncio.Event()
        self._version = ""
        self._status = 0
        self._why = "the connection was closed"
        self._is_closing = False
        ready: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="http", daemon=True)
        self._thread.start()
        try:
            ready.result(REACHED)
        except TimeoutError:
            raise LinkError(f"{url} did not answer within {REACHED:g} s") from None

    @property
    def needs_login(self) -> bool:
        """Whether the server has let nobody in who is not logged in."""
        return self._login is not None and self._login.is_refused

    def send(self, message: Message) -> None:
        """Send a message; what comes of it is heard later."""
        if self._is_closing or self._loop.is_closed():
            raise LinkError("the connection was closed")
        session = SessionMessage(
            jsonrpc_message_adapter.validate_python(message, by_name=False),
            metadata=ClientMessageMetadata(headers=self._headers_of(message)),
        )
        try:
            asyncio.run_coroutine_threadsafe(self._write.send(session), self._loop)
        except RuntimeError:
            raise LinkError("the connection was closed") from None

    def close(self) -> None:
        """End the session and the connection."""
        self._is_closing = True
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(CLOSING)

    def agreed(self, version: str) -> None:
        """Note the version of the protocol that every request names from now on."""
        self._version = version

    def _headers_of(self, message: Message) -> dict[str, str]:
        """Return the headers that tell of a message; those of the stateless era name its target."""
        params = message.get("params") or {}
        method = str(message.get("method", ""))
        version = (params.get("_meta") or {}).get(f"{KEY}protocolVersion") or self._version
        headers = {"mcp-protocol-version": version} if version else {}
        if version >= STATELESS and method:
            headers["mcp-method"] = method
            target = params.get("uri") if method == "resources/read" else params.get("name")
            if isinstance(target, str):
                headers["mcp-name"] = encode_header_value(target)
        return headers

    def _run(self, ready: Future[None]) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._connected(ready))
        except BaseException as error:
            self._why = (
                f"{_place(self._url)} wants a login"
                if self.needs_login
                else _words(error, self._url)
            )
            if not ready.done():
                ready.set_exception(LinkError(self._why))
        finally:
            self._loop.close()
        self._on_end(self._why)

    async def _connected(self, ready: Future[None]) -> None:
        async with self._streams() as (read, write):
            self._write = write
            ready.set_result(None)
            hearing = asyncio.ensure_future(self._hear_all(read))
            stopping = asyncio.ensure_future(self._stop.wait())
            await asyncio.wait({hearing, stopping}, return_when=asyncio.FIRST_COMPLETED)
            hearing.cancel()
            stopping.cancel()

    async def _hear_all(self, read: Any) -> None:
        async for item in read:
            if isinstance(item, SessionMessage):
                data = item.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
                self._hear(self._with_status(data) if "error" in data else data)

    def _with_status(self, message: Message) -> Message:
        """Return an error with the status of the answer that it stands for, where that says more.

        A session that the server no longer knows ends the link, and another is begun; so does a
        login that is not there, or no longer good.
        """
        status, self._status = self._status, 0
        if status == UNAUTHORIZED and self.needs_login:
            self._why = f"{_place(self._url)} wants a login"
            self._loop.call_soon(self._stop.set)
            return {**message, "error": {"code": -32000, "message": self._why, "lost": 1}}
        if status == NOT_FOUND and self._version and self._version < STATELESS:
            self._why = "its session has ended at the server"
            self._loop.call_soon(self._stop.set)
            return {**message, "error": {"code": -32000, "message": self._why, "lost": 1}}
        if message["error"].get("message") == HIDES_STATUS and status:
            words = f"the server has answered with HTTP {status}"
            return {**message, "error": {"code": -32603, "message": words, "status": status}}
        return message

    async def _note_status(self, response: httpx2.Response) -> None:
        if response.status_code >= 400 and response.request.method == "POST":
            self._status = response.status_code

    @asynccontextmanager
    async def _streams(self) -> AsyncIterator[tuple[Any, Any]]:
        if self._transport == "sse" or (self._transport is None and await self._is_sse()):
            async with sse_client(self._url, self._headers, auth=self._login) as streams:
                yield streams[0], streams[1]
            return
        client = create_mcp_http_client(headers=self._headers, auth=self._login)
        client.event_hooks["response"].append(self._note_status)
        async with (
            client,
            streamable_http_client(
                self._url, http_client=client, max_sse_event_size=LONGEST_EVENT
            ) as streams,
        ):
            yield streams[0], streams[1]

    async def _is_sse(self) -> bool:
        """Whether an address offers the older transport only, as the specification finds it out."""
        about = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
        accepts = {"accept": "application/json, text/event-stream"}
        headers = {**self._headers, **accepts}
        async with create_mcp_http_client(headers=headers, auth=self._login) as client:
            answer = await client.post(self._url, json=about, follow_redirects=False)
            if answer.status_code not in FALLS_BACK or _is_json(answer):
                return False
            request = client.build_request(
                "GET", self._url, headers={"accept": "text/event-stream"}
            )
            stream = await client.send(request, stream=True, follow_redirects=False)
            kind = stream.headers.get("content-type", "")
            await stream.aclose()
            return stream.status_code == 200 and kind.startswith("text/event-stream")


def _is_json(answer: httpx2.Response) -> bool:
    """Whether an answer is one of JSON-RPC, which only the newer transport gives to a post."""
    try:
        return "jsonrpc" in answer.json()
    except (ValueError, TypeError):
        return False


def _words(error: BaseException, url: str) -> str:
    """Say why an address cannot be reached, without what may be secret in it."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return f"{_place(url)} cannot be reached: {type(error).__name__}: {error}"


def _place(url: str) -> httpx2.URL:
    """Return an address without what may be secret in it."""
    return httpx2.URL(url).copy_with(query=None)
