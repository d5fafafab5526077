"""Serving over standard input and output: our own link under the SDK's lowlevel server."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import mcp_types as types
from mcp.server import runner
from mcp.server.lowlevel.server import Server
from mcp.shared.message import ServerMessageMetadata, SessionMessage

from ..frames import Handover, TooLong
from ..host import Host
from ..server import Adapter
from .link import INVALID_REQUEST, PARSE_ERROR, Link

log = logging.getLogger("mcp_host.stdio")

AHEAD = 8
OTHER_ERA = "this conversation began with a handshake, and takes no envelope of 2026-07-28"
DEEPEST = 190
"""Arrays and objects in one another that every reader on the way takes."""
TOO_DEEP = "it is nested too deeply"


class Session:
    """A link as the SDK's pair of message streams."""

    def __init__(self, link: Link, adapter: Adapter, drained: Callable[[], Any]) -> None:
        self._link, self._adapter, self._drained = link, adapter, drained
        self._ahead: deque[SessionMessage] = deque()
        self._serves_handshake = False

    async def era(self) -> Literal["handshake", "modern"] | None:
        """Which era the client's first request opens; None where none comes.

        What was read up to it is read again; of more than `AHEAD` earlier frames the rest is lost.
        """
        while True:
            try:
                item = await self._next()
            except StopAsyncIteration:
                return None
            is_request = isinstance(item.message, types.JSONRPCRequest)
            if is_request or len(self._ahead) < AHEAD:
                self._ahead.append(item)
            if isinstance(item.message, types.JSONRPCRequest):
                self._serves_handshake = not _opens_modern(item.message)
                return "handshake" if self._serves_handshake else "modern"

    async def __anext__(self) -> SessionMessage:
        return self._ahead.popleft() if self._ahead else await self._next()

    async def _next(self) -> SessionMessage:
        while True:
            line = await self._link.lines.get()
            if line is None:
                self._link.lines.put_nowait(None)  # the SDK asks again where nothing came at all
                self._adapter.nobody_answers()
                self._adapter.close_streams()
                await self._drained()
                raise StopAsyncIteration
            if isinstance(line, TooLong):
                self._refuse(None, INVALID_REQUEST, "The message is too long")
                continue
            message = self._message(line)
            if isinstance(message, types.JSONRPCRequest):
                # Told also when the SDK answers nothing, as to a request that was taken back.
                unanswered = partial(self._unanswered, message.id)
                metadata = ServerMessageMetadata(on_request_unanswered=unanswered)
                return SessionMessage(message, metadata=metadata)
            if message is not None:
                return SessionMessage(message)

    def _message(self, line: bytes) -> types.JSONRPCMessage | None:
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self._refuse_invalid(line)
            return None
        if isinstance(message, types.JSONRPCNotification) and _has_id(line):
            self._refuse_invalid(line)  # the model takes it for a notification
            return None
        if not isinstance(message, types.JSONRPCRequest):
            return message
        if self._serves_handshake and _opens_modern(message):
            self._refuse(message.id, INVALID_REQUEST, f"Invalid request: {OTHER_ERA}")
            return None
        if self._link.accepted(message.id):
            return message
        self._refuse(message.id, INVALID_REQUEST, "This id is in use already")
        return None

    async def _unanswered(self, request_id: str | int) -> None:
        self._link.answered(request_id)

    def _refuse_invalid(self, line: bytes) -> None:
        try:
            data = json.loads(line)
        except RecursionError:
            self._refuse(None, INVALID_REQUEST, f"Invalid request: {TOO_DEEP}")
        except (json.JSONDecodeError, UnicodeDecodeError):
            self._refuse(None, PARSE_ERROR, "Parse error: the line is not valid JSON")
        except ValueError:  # more digits than Python reads
            self._refuse(None, INVALID_REQUEST, "Invalid request: a number is too long")
        else:
            request_id = data.get("id") if isinstance(data, dict) else None
            known = request_id if _is_id(request_id) else None
            self._refuse(known, INVALID_REQUEST, f"Invalid request: {_fault(data)}")

    def _refuse(self, request_id: str | int | None, code: int, message: str) -> None:
        error = {"code": code, "message": message}
        frame = {"jsonrpc": "2.0", "id": request_id, "error": error}
        self._link.post(json.dumps(frame).encode())  # who does not read is listened to all the same

    async def send(self, item: SessionMessage) -> None:
        message = item.message
        answers = None
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            answers = message.id
        if answers is None or not self._link.was_answered(answers):
            frame = message.model_dump_json(by_alias=True, exclude_unset=True)
            await self._link.write(frame.encode())
        if answers is not None:
            self._link.answered(answers)

    # -- what else the SDK wants of a stream

    def __aiter__(self) -> Session:
        return self

    async def receive(self) -> SessionMessage:
        return await self.__anext__()

    async def aclose(self) -> None:
        """The link outlives the SDK's interest in it."""

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, *exc: object) -> None:
        """As `aclose`."""


def _opens_modern(request: types.JSONRPCRequest) -> bool:
    """Whether a request carries the envelope of 2026-07-28, or a part of it."""
    meta = (request.params or {}).get("_meta")
    has_envelope = isinstance(meta, dict) and types.PROTOCOL_VERSION_META_KEY in meta
    return has_envelope and request.method != "initialize"


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _has_id(line: bytes) -> bool:
    return b'"id"' in line and "id" in json.loads(line)


def _fault(data: Any) -> str:
    """What is wrong with valid JSON that is no message."""
    if isinstance(data, list):
        return "this is a batch, which is not supported"
    if not isinstance(data, dict) or data.get("jsonrpc") != "2.0":
        return "this is no JSON-RPC 2.0"
    if "id" in data and not _is_id(data["id"]):
        return "the id must be a string or an integer"
    if not isinstance(data.get("method"), str):
        return "there is no method"
    if not isinstance(data.get("params", {}), dict):
        return "params must be an object"
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "a string holds half a character (a lone surrogate)"
    except RecursionError:
        return TOO_DEEP
    return TOO_DEEP if _depth(data) > DEEPEST else "this is no JSON-RPC 2.0"


def _depth(data: Any) -> int:
    """How many arrays and objects stand in one another."""
    depth, layer = 0, [data]
    while layer := [part for whole in layer for part in _parts(whole)]:
        depth += 1
    return depth


def _parts(data: Any) -> list[Any]:
    if isinstance(data, dict):
        return list(data.values())
    return data if isinstance(data, list) else []


async def run(server: Server[Any], session: Session) -> None:
    """Serve one session until its input ends, as the SDK's `Server.run` does.

    That would look ahead to the first request by itself, and have every later message pass through
    a second task: an eighth of a call's round trip. Our session looks ahead on its own.
    """
    options = server.create_initialization_options()
    era = await session.era()
    # Not of the SDK's public names; without it, its own way serves as well, and slower.
    serve_modern = getattr(runner, "_serve_modern_stream", None)
    if era == "handshake":
        await runner.serve_loop(server, session, session, lifespan_state={}, init_options=options)
    elif era == "modern" and serve_modern is not None:
        await serve_modern(server, session, session, lifespan_state={}, raise_exceptions=False)
    elif era is not None:
        await server.run(session, session, options)


async def serve(
    host: Host,
    make_adapter: Callable[[], Adapter],
    descriptors: tuple[int, int],
    *,
    before: Handover,
    at_once: Callable[[], None],
) -> None:
    """Serve one client until its input ends, a signal comes, or a required pack fails.

    `before` is what was answered and kept while the SDK was loading; `at_once` is called on a
    second signal.
    """
    link = Link(*descriptors, host.settings.host.max_message_bytes, before)
    await host.open()
    adapter = make_adapter()
    detach = adapter.attach()
    stopping = asyncio.Event()
    if before.stopping:
        stopping.set()

    def stop() -> None:
        if stopping.is_set():
            at_once()
        stopping.set()
        adapter.close_streams()
        link.stop()

    _on_signals(stop)
    link.start()
    session = Session(link, adapter, lambda: _drain(host, link, stopping))
    serving = asyncio.create_task(run(adapter.server, session))
    failing = asyncio.create_task(host.failed())
    await asyncio.wait({serving, failing}, return_when=asyncio.FIRST_COMPLETED)
    if failing.done():
        serving.cancel()
    failing.cancel()
    await asyncio.gather(serving, failing, return_exceptions=True)
    detach()
    await host.close()


async def _drain(host: Host, link: Link, stopping: asyncio.Event) -> None:
    """Let accepted calls end: at the end of input by their deadlines, after a signal by `grace`.

    A client that has ended its input and takes nothing for as long as `grace` has gone.
    """
    grace = host.settings.host.grace
    stopped = asyncio.create_task(stopping.wait())
    ended = asyncio.create_task(_all_answered(host, link))
    while not (stopped.done() or ended.done() or link.is_stuck(grace)):
        await asyncio.wait({stopped, ended}, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
    if stopping.is_set() and not ended.done():
        await asyncio.wait({ended}, timeout=grace)
    stopped.cancel()
    ended.cancel()


async def _all_answered(host: Host, link: Link) -> None:
    await link.drained()
    await host.required_decided()


def _on_signals(stop: Callable[[], None]) -> None:
    if sys.platform == "win32":
        signal.signal(signal.SIGINT, lambda *_: stop())
        return
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
