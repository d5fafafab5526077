"""Serving over standard input and output: our own link under the SDK's lowlevel server."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from collections.abc import Callable
from typing import Any

import mcp_types as types
from mcp.shared.message import SessionMessage

from ..host import Host
from ..server import Adapter
from .link import INVALID_REQUEST, PARSE_ERROR, Link, TooLong

log = logging.getLogger("mcp_host.stdio")

LISTEN = "subscriptions/listen"
EXIT_OK, EXIT_REQUIRED_PACK = 0, 3


class Session:
    """A link as the SDK's pair of message streams."""

    def __init__(self, link: Link, adapter: Adapter, drained: Callable[[], Any]) -> None:
        self._link, self._adapter, self._drained = link, adapter, drained

    async def __anext__(self) -> SessionMessage:
        while True:
            line = await self._link.lines.get()
            if line is None:
                self._adapter.nobody_answers()
                await self._drained()
                raise StopAsyncIteration
            if isinstance(line, TooLong):
                await self._refuse(None, INVALID_REQUEST, "The message is too long")
                continue
            message = await self._message(line)
            if message is not None:
                return SessionMessage(message)

    async def _message(self, line: bytes) -> types.JSONRPCMessage | None:
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            await self._refuse_invalid(line)
            return None
        if isinstance(message, types.JSONRPCRequest) and message.method != LISTEN:
            if not self._link.accepted(message.id):
                await self._refuse(message.id, INVALID_REQUEST, "This id is in use already")
                return None
        elif isinstance(message, types.JSONRPCNotification):
            self._note_cancelled(message)
        return message

    def _note_cancelled(self, message: types.JSONRPCNotification) -> None:
        if message.method == "notifications/cancelled":
            request_id = (message.params or {}).get("requestId")
            if isinstance(request_id, str | int):
                self._link.answered(request_id)  # the SDK answers nothing to what is taken back

    async def _refuse_invalid(self, line: bytes) -> None:
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            await self._refuse(None, PARSE_ERROR, "Parse error: the line is not valid JSON")
            return
        request_id = data.get("id") if isinstance(data, dict) else None
        if not isinstance(request_id, str | int) or isinstance(request_id, bool):
            request_id = None
        what = "a batch, which is not supported" if isinstance(data, list) else "no JSON-RPC 2.0"
        await self._refuse(request_id, INVALID_REQUEST, f"Invalid request: this is {what}")

    async def _refuse(self, request_id: str | int | None, code: int, message: str) -> None:
        error = {"code": code, "message": message}
        frame = {"jsonrpc": "2.0", "id": request_id, "error": error}
        await self._link.write(json.dumps(frame).encode())

    async def send(self, item: SessionMessage) -> None:
        message = item.message
        await self._link.write(message.model_dump_json(by_alias=True, exclude_unset=True).encode())
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._link.answered(message.id)

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


async def serve(
    host: Host,
    make_adapter: Callable[[], Adapter],
    descriptors: tuple[int, int],
    *,
    ready: Callable[[], None],
    at_once: Callable[[], None],
) -> int:
    """Serve one client until its input ends or a signal comes; the exit code.

    `ready` is called when requests can be taken, `at_once` on a second signal.
    """
    link = Link(*descriptors, host.settings.host.max_message_bytes)
    await host.open()
    adapter = make_adapter()
    detach = adapter.attach()
    stopping = asyncio.Event()

    def stop() -> None:
        if stopping.is_set():
            at_once()
        stopping.set()
        adapter.close_streams()
        link.stop()

    _on_signals(stop)
    link.start()
    session = Session(link, adapter, lambda: _drain(host, link, stopping))
    serving = asyncio.create_task(
        adapter.server.run(
            session,
            session,
            adapter.server.create_initialization_options(),
        )
    )
    failing = asyncio.create_task(host.failed())
    ready()
    await asyncio.wait({serving, failing}, return_when=asyncio.FIRST_COMPLETED)
    if failing.done():
        serving.cancel()
    failing.cancel()
    await asyncio.gather(serving, failing, return_exceptions=True)
    detach()
    await host.close()
    return EXIT_REQUIRED_PACK if host.fatal else EXIT_OK


async def _drain(host: Host, link: Link, stopping: asyncio.Event) -> None:
    """Let accepted calls end: at the end of input by their deadlines, after a signal by `grace`."""
    stopped = asyncio.create_task(stopping.wait())
    ended = asyncio.create_task(_all_answered(host, link))
    await asyncio.wait({stopped, ended}, return_when=asyncio.FIRST_COMPLETED)
    if stopping.is_set() and not ended.done():
        await asyncio.wait({ended}, timeout=host.settings.host.grace)
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
