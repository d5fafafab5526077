"""One session of the warm host: a client whose front has handed its streams over."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from ...declarations.context import LEVELS, Caller
from ...host import Host
from ...settings.overrides import overridden
from ...startup.first_answers import FirstAnswers
from ...startup.frames import Line
from ...startup.options import Options
from ...startup.resuming import resumed
from ...startup.warm import wire
from ...startup.warm.journal import JournalWriter
from ...startup.warm.unfinished import is_kept
from ...startup.warm.wire import Request
from ..connections import STDIO, Connection
from ..sdk import SdkSide
from ..serving import EXIT_ERROR, EXIT_OK, EXIT_REQUIRED_PACK
from ..transports.stdio.conversation import serve
from . import logs
from .hosts import OpenHost
from .logs import SessionLog, WarmLog
from .streams import JournaledStreams


class WarmSession:
    """One client, from when its front was accepted to its end.

    `descriptors` are its standard streams, the journal's memory and its pipe. `moving` has it let
    go, so that another host goes on with it.
    """

    def __init__(self, peer: socket.socket, request: Request, descriptors: list[int]) -> None:
        self.request = request
        self.began = time.time()
        self._peer = peer
        self._streams = descriptors[:3]
        self._journal = JournalWriter(descriptors[3], (descriptors[4], descriptors[5]))
        source, sink, _ = self._streams
        self._journaled = JournaledStreams(source, sink, self._journal, request.skipped)
        self._stopping = asyncio.Event()
        self._is_moving = False

    def about(self) -> dict[str, Any]:
        """Return what `mcp-host warm status` tells of it."""
        program, source, root, _ = self.request.identity
        return {"program": program, "settings": source, "root": root, "began": self.began}

    def move(self) -> None:
        """End it here, for another host to go on with: running calls get `grace`."""
        self._is_moving = True
        self._stopping.set()

    async def run(self, found: OpenHost, warm_log: WarmLog) -> None:
        """Serve the client to its end, and tell the front how it ended."""
        settings = found.host.settings
        session_log = SessionLog(
            self._streams[2], overridden(settings, Options(**self.request.options))
        )
        warm_log.heed(session_log.level)
        logs.current.set(session_log)
        grace = int(settings.host.grace * 1000)
        loop = asyncio.get_running_loop()
        found.sessions += 1
        try:
            wire.accept(self._peer, grace, found.host.inventory.flight.opened())
            loop.add_reader(self._peer, self._heard)
            code = await self._serve(found, session_log)
        finally:
            found.leave()
            loop.remove_reader(self._peer)
        self.close(wire.MOVED + b"\0" if self._is_moving else wire.ENDED + bytes([code]))

    def close(self, word: bytes) -> None:
        """Let go of the client, and only then tell the front."""
        self._journaled.close(self._let_go)
        with suppress(OSError):
            self._peer.sendall(word)
        self._peer.close()

    def _let_go(self) -> None:
        for descriptor in self._streams:
            os.close(descriptor)
        self._journal.close()

    async def _serve(self, found: OpenHost, session_log: SessionLog) -> int:
        host = found.host
        self._journaled.longest = host.settings.host.max_message_bytes
        before = self.request.before(host.settings.host.max_message_bytes)
        catalogue = found.catalogue()
        sdk = SdkSide(
            host,
            found.catalogue,
            stateless=False,
            stale=self.request.stale,
            connection=self.request.connection,
        )
        _restore(sdk.connections.stdio, host, before.lines)
        source, sink, _ = self._streams
        serving = asyncio.create_task(
            serve(
                host,
                sdk,
                (source, sink),
                resumed(before, FirstAnswers(catalogue)),
                self._stopping,
                self._journaled,
            )
        )
        failing = asyncio.create_task(host.failed())
        what = found.what
        session_log.write(what.started or f"{what.name} {found.version} serving on stdio")
        await asyncio.wait({serving, failing}, return_when=asyncio.FIRST_COMPLETED)
        if failing.done():
            serving.cancel()
        failing.cancel()
        await asyncio.gather(serving, failing, return_exceptions=True)
        sdk.connections.forget(STDIO)
        sdk.detach()
        if host.settings.host.telemetry:
            from ..telemetry import flush  # and OpenTelemetry, which others do without

            await asyncio.to_thread(flush)
        if host.fatal:
            session_log.write(f"error: {host.fatal}")
            return EXIT_REQUIRED_PACK
        if not serving.cancelled() and serving.exception() is not None:
            logs.log.critical("serving failed", exc_info=serving.exception())
            return EXIT_ERROR
        return EXIT_OK

    def _heard(self) -> None:
        """A signal of the front's, or its end: both end the session."""
        try:
            told = self._peer.recv(16)
        except OSError:
            told = b""
        if not told:
            asyncio.get_running_loop().remove_reader(self._peer)
        self._stopping.set()


def _restore(connection: Connection, host: Host, lines: Iterable[Line]) -> None:
    """Have a connection as it was left: the SDK, which is told as well, comes later than calls."""
    caller = Caller(connection=connection.id)
    for line in lines:
        message = json.loads(line) if isinstance(line, bytes) and is_kept(line) else {}
        method, params = message.get("method"), message.get("params")
        if not isinstance(params, dict):
            continue
        if method == "logging/setLevel" and params.get("level") in LEVELS:
            connection.level = params["level"]
        elif method == "resources/subscribe":
            host.watching.begin(connection.watched, str(params.get("uri")), caller)
        elif method == "resources/unsubscribe":
            host.watching.end(connection.watched, str(params.get("uri")))
