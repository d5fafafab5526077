"""A pack's own process: declares, opens and calls one pack, as the messages of the host say.

The pack lives behind a `ThreadWorker` here as well, so that it is served alike in both places.
"""

from __future__ import annotations

import asyncio
import contextvars
import faulthandler
import logging
import os
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, NoReturn

from ..declarations.environment import session_environment
from ..declarations.handle import PackHandle
from ..errors import CallError
from ..packs.apart import with_dates
from ..packs.catalog import Naming
from ..packs.children.frames import Frame, FrameError, Frames, frame
from ..packs.compatibility import host_requirement
from ..packs.conditions import Condition
from ..packs.declared import Declared, LoadError, Offer
from ..packs.declaring import declare
from ..packs.hooks import Hooks
from ..packs.told import tell
from ..settings.loading import Settings
from ..settings.tables import HostTable, PackTable
from ..startup.descriptors import private
from . import bounds
from .codec import (
    call_of,
    list_change_data,
    proposals_of,
    reason_data,
    reply_data,
    said_data,
)
from .mailbox import PAUSE, Mailbox, Said
from .messages import VERSION, CallMessage, Failed, ListChange, Proposed, Reason, Reply
from .offers import Offers
from .programs import ProgramRunner
from .worker import ServiceError, ThreadWorker

LOG_PORTION = 50
"""The most lines of the log in one message."""
LOG_RING = 1000
"""The most lines of the log that wait; of more, the oldest are dropped and counted."""
LIST_CHANGES = 16
"""The most changes of lists in one message: an entry may be long."""
GROUP = "mcp_host.packs"


def main(end: socket.socket) -> NoReturn:
    """Serve one pack to the host at the other end of a socket; ends the process."""
    faulthandler.enable(private(2))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(line_buffering=True)  # what it prints last is read, too
    low = end.detach()
    outlet = Outlet(socket.socket(fileno=private(low)))
    os.close(low)
    side = PackSide(outlet)
    side.declare()
    asyncio.run(side.serve())
    os._exit(0)


class Outlet:
    """The way to the host: straight through the socket at first, then through the event loop.

    Nobody writes while another does: before `connected` there is one thread, and lines of the log
    wait for it. Afterwards the loop writes, and other threads straight through the socket where
    nothing waits to be written; what does not fit there is `_rest`, which the loop writes first.
    """

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self.frames = Frames()
        self._lock = threading.Lock()
        self._lines: deque[dict[str, Any]] = deque()
        self._dropped = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._transport: asyncio.WriteTransport | None = None
        self._is_free = True
        self._sending = threading.Lock()
        self._rest = bytearray()

    def is_free(self) -> bool:
        """Whether the host takes what is sent, so that there is no need to wait."""
        return self._is_free

    def set_free(self, is_free: bool) -> None:
        """Note whether the host takes what is sent."""
        self._is_free = is_free
        if is_free:
            self.write_lines()

    def connected(self, transport: asyncio.WriteTransport) -> None:
        """Write through this from now on, in the loop's thread."""
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self.write_lines()

    def send(self, head: Mapping[str, Any], body: bytes = b"") -> None:
        """Send a message; in the main thread."""
        data = frame(head, body)
        if self._transport is not None:
            with self._sending:
                self._write_rest()
                self._transport.write(data)
            return
        try:
            self.socket.sendall(data)
        except OSError:
            os._exit(0)  # the host is gone

    def send_here(self, head: Mapping[str, Any], body: bytes = b"") -> None:
        """Send a message from any thread, after `connected`."""
        data = frame(head, body)
        assert self._transport is not None and self._loop is not None
        with self._sending:
            sent = 0
            if not self._rest and not self._transport.get_write_buffer_size():
                with suppress(OSError):  # it is full, or the host is gone, as the loop will find
                    sent = self.socket.send(data)
            if sent == len(data):
                return
            self._rest += memoryview(data)[sent:]
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._write_rest_soon)

    def _write_rest_soon(self) -> None:
        with self._sending:
            self._write_rest()

    def _write_rest(self) -> None:
        if self._rest and self._transport is not None:
            self._transport.write(bytes(self._rest))
            self._rest.clear()

    def receive(self) -> Frame:
        """Wait for the next message, before `connected`."""
        while (one := self.frames.next()) is None:
            data = self.socket.recv(256 * 1024)
            if not data:
                os._exit(0)
            self.frames.feed(data)
        return one

    def line(self, line: dict[str, Any]) -> None:
        """Have a line of the log sent, from any thread."""
        with self._lock:
            if len(self._lines) >= LOG_RING:
                self._lines.popleft()
                self._dropped += 1
            self._lines.append(line)
            is_first = len(self._lines) == 1
        if is_first and self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self.write_lines)

    def write_lines(self) -> None:
        """Send the lines that wait, and later those that come meanwhile; in the main thread."""
        for _ in range(LOG_RING // LOG_PORTION):
            if not self._is_free:
                return
            with self._lock:
                count = min(LOG_PORTION, len(self._lines))
                lines = [self._lines.popleft() for _ in range(count)]
                dropped, self._dropped = self._dropped, 0
            if not lines and not dropped:
                return
            self.send({"log": lines, "dropped": dropped})
        if self._loop is not None:
            self._loop.call_later(PAUSE, self.write_lines)


class ToHost(logging.Handler):
    """Sends what is logged here to the host, which writes it as its own."""

    def __init__(self, outlet: Outlet) -> None:
        super().__init__()
        self._outlet = outlet

    def emit(self, record: logging.LogRecord) -> None:
        try:
            message = record.getMessage()
        except Exception as error:  # arguments that do not fit the message
            message = f"{bounds.text(record.msg)} ({bounds.text(error)})"
        trace = getattr(record, "traceback", "")
        if record.exc_info and record.exc_info[1] is not None:
            trace = bounds.trace(record.exc_info[1])
        self._outlet.line(
            {
                "level": record.levelno,
                "logger": bounds.text(record.name, 256),
                "message": bounds.text(message),
                "traceback": bounds.text(trace, 16 * 1024),
            }
        )


class PackSide:
    """One pack, from what it declares to its end.

    `_calls` are the tasks of what the host waits for, by its number, and `_plain` what tells calls
    of plain functions that nobody waits any more: those need no task, and reply from the thread
    that they run in. All methods belong to the main thread.
    """

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._request: Mapping[str, Any] = {}
        self._declared: Declared | None = None
        self._worker: ThreadWorker | None = None
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._plain: dict[int, Callable[[], None]] = {}
        self._lost: asyncio.Task[None] | None = None
        self._watched: frozenset[str] = frozenset()
        self._gone = asyncio.Event()

    # -- declaring

    def declare(self) -> None:
        """Import the pack and say what it declares; ends the process where that cannot be."""
        self._request, _ = self._outlet.receive()
        root = logging.getLogger()
        root.handlers[:] = [ToHost(self._outlet)]
        root.setLevel(logging.WARNING)
        logging.getLogger("mcp_host").setLevel(self._request["log_level"].upper())
        try:
            told = self._declare()
        except LoadError as error:
            why = error.condition
            self._refuse(why.code, why.reason, why.remedy)
        except BaseException as error:
            logging.getLogger("mcp_host.packs").warning(
                "a pack could not be loaded", exc_info=error
            )
            reason = f"{type(error).__name__}: {bounds.text(error)}"
            self._refuse("load_failed", reason, "the log of `mcp-host serve` has the traceback")
        self._outlet.write_lines()
        self._outlet.send({"border": VERSION, "declared": told})

    def _declare(self) -> dict[str, Any]:
        request = self._request
        name = request["declare"]
        offer = Offer(*request["offer"]) if request["offer"] else _installed(name, request["table"])
        table = PackTable.model_validate(request["table"])
        table = table.model_copy(update={"settings": with_dates(request["settings"])})
        problem = request["problem"]
        settings = Settings(
            host=HostTable(root=None if request["root"] is None else Path(request["root"])),
            packs={name: table},
            source=None if request["source"] is None else Path(request["source"]),
            problems={} if problem is None else {name: problem},
        )
        self._declared = declare(offer, settings, Hooks(), self._step)
        return tell(self._declared)

    def _step(self, step: str) -> None:
        self._outlet.send({"step": step})

    def _refuse(self, code: str, reason: str, remedy: str) -> NoReturn:
        self._outlet.write_lines()
        words = [bounds.cut(code), bounds.text(reason), bounds.text(remedy)]
        self._outlet.send({"border": VERSION, "refused": words})
        os._exit(0)

    # -- serving

    async def serve(self) -> None:
        """Serve until the host closes."""
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: _Link(self, self._outlet), sock=self._outlet.socket)
        await self._gone.wait()

    def ended(self) -> None:
        """Note that the host has closed its end: there is nobody to serve."""
        os._exit(0)

    def hear(self, message: Mapping[str, Any]) -> None:
        """Do what the host says."""
        number = message.get("number", 0)
        if "call" in message:
            self._begin_call(number, message["call"], message.get("environment"))
        elif "cancel" in message:
            if task := self._calls.get(message["cancel"]):
                task.cancel()
            elif tell := self._plain.get(message["cancel"]):
                tell()
        elif "open" in message:
            self._lost = asyncio.create_task(self._open(message["open"]))
        elif "propose" in message:
            self._begin(number, self._propose(number, message["propose"]))
        elif "check" in message:
            self._begin(number, self._check(number))
        elif "forget" in message:
            # After the calls that came before it, whose tasks have yet to begin.
            asyncio.get_running_loop().call_soon(self._forget, message["forget"])
        elif "watched" in message:
            self._watched = frozenset(message["watched"])
        elif "close" in message:
            self._begin(number, self._close(message["close"]))

    def _forget(self, key: str) -> None:
        if self._worker is not None:
            self._worker.forget(key)

    def _begin(
        self,
        number: int,
        work: Coroutine[Any, Any, None],
        within: contextvars.Context | None = None,
    ) -> None:
        task = self._calls[number] = asyncio.create_task(work, context=within)
        task.add_done_callback(partial(self._done, number))

    def _done(self, number: int, task: asyncio.Task[None]) -> None:
        self._calls.pop(number, None)
        if task.cancelled():
            self._outlet.send({"cancelled": number})

    async def _open(self, about: Mapping[str, Any]) -> None:
        declared = self._declared
        assert declared is not None
        data, cache = map(Path, about["folders"])
        self._watched = frozenset(about["watched"])
        mailbox = Mailbox(_Sending(self._outlet), asyncio.get_running_loop(), self._outlet.is_free)
        offers = Offers(declared, mailbox.list_change)
        secret_variables = frozenset(self._request["secret_variables"])
        handle = PackHandle(
            declared.name,
            changed=mailbox.changed,
            lists_changed=mailbox.lists_changed,
            offer=offers.offer,
            withdraw=offers.withdraw,
            watched=lambda: self._watched,
            degraded=lambda code, reason, remedy: mailbox.report(
                Condition(
                    "degraded", bounds.text(code, 64), bounds.text(reason), bounds.text(remedy)
                )
            ),
            recovered=lambda: mailbox.report(None),
            public_name=Naming(declared, self._request["prefixed"]).public_tool,
            folders=(data, cache),
            programs=ProgramRunner(
                lambda: secret_variables,
                tuple(declared.needs.child_environment),
            ),
        )
        self._worker = ThreadWorker(declared, handle, offers, mailbox, self._abandoned)
        why: Reason | None = None
        try:
            await self._worker.open()
        except ServiceError as error:
            why = error.why
        self._outlet.send({"opened": reason_data(why)})
        if why is None:
            self._outlet.send({"lost": reason_data(await self._worker.lost())})

    def _abandoned(self, count: int) -> None:
        self._outlet.send({"abandoned": count})

    def _begin_call(
        self, number: int, data: Mapping[str, Any], environment: Mapping[str, str] | None
    ) -> None:
        message = call_of(data)
        within = contextvars.copy_context()
        within.run(session_environment.set, environment)
        has_replied = threading.Event()

        def hear(said: Said) -> None:
            self._outlet.send({"said": said_data(said), "number": number})

        def reply_here(reply: Reply) -> None:
            has_replied.set()
            self._plain.pop(number, None)
            head, body = reply_data(reply)
            self._outlet.send_here({"reply": number, **head}, body)

        assert self._worker is not None
        try:
            tell = self._worker.begin(message, hear, reply_here, within)
        except CallError as error:
            self._reply(number, _refused(error))
            return
        if tell is None:
            self._begin(number, self._call(number, message, hear), within)
            return
        self._plain[number] = tell
        if has_replied.is_set():
            self._plain.pop(number, None)

    async def _call(self, number: int, message: CallMessage, hear: Callable[[Said], None]) -> None:
        assert self._worker is not None
        reply: Reply | Proposed
        try:
            reply = await self._worker.call(message, hear)
        except CallError as error:
            reply = _refused(error)
        self._reply(number, reply)

    async def _propose(self, number: int, data: Mapping[str, Any]) -> None:
        assert self._worker is not None
        reply: Reply | Proposed
        try:
            reply = await self._worker.propose(proposals_of(data))
        except CallError as error:
            reply = _refused(error)
        self._reply(number, reply)

    def _reply(self, number: int, reply: Reply | Proposed) -> None:
        head, body = reply_data(reply)
        self._outlet.send({"reply": number, **head}, body)

    async def _check(self, number: int) -> None:
        assert self._worker is not None
        try:
            found = [asdict(one) for one in await self._worker.check()]
        except CallError as error:
            found = [{"problem": bounds.text(error), "remedy": ""}]
        self._outlet.send({"reply": number, "found": found})

    async def _close(self, limit: float) -> None:
        if self._lost is not None:
            self._lost.cancel()
        if self._worker is not None:
            await self._worker.close(limit)
        self._outlet.write_lines()
        self._outlet.send({"closed": True})
        self._gone.set()


class _Link(asyncio.Protocol):
    """The loop's end of the socket."""

    def __init__(self, side: PackSide, outlet: Outlet) -> None:
        self._side = side
        self._outlet = outlet

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._outlet.connected(transport)

    def data_received(self, data: bytes) -> None:
        self._outlet.frames.feed(data)
        try:
            for message, _ in self._outlet.frames:
                self._side.hear(message)
        except FrameError:
            self._side.ended()

    def pause_writing(self) -> None:
        self._outlet.set_free(False)

    def resume_writing(self) -> None:
        self._outlet.set_free(True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._side.ended()


class _Sending:
    """Hears the pack's mailbox, and sends what is in it on."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet

    def changed(self, uri: str) -> None:
        self._outlet.send({"changed": uri})

    def lists_changed(self) -> None:
        self._outlet.send({"lists_changed": True})

    def list_changes(self, changes: Sequence[ListChange]) -> None:
        for start in range(0, len(changes), LIST_CHANGES):
            portion = changes[start : start + LIST_CHANGES]
            self._outlet.send({"list_changes": [list_change_data(one) for one in portion]})

    def reported(self, condition: Condition | None) -> None:
        words = condition and [condition.code, condition.reason, condition.remedy]
        self._outlet.send({"condition": words})

    def dropped(self, count: int) -> None:
        self._outlet.send({"changes_dropped": count})


def _refused(error: CallError) -> Failed:
    """Return what is told of a call that did not begin."""
    return Failed(
        error.code, str(error), tuple(error.suggestions), error.details, bool(error.retryable)
    )


def _installed(name: str, table: Mapping[str, Any]) -> Offer:
    """Find a pack in this environment; `LoadError` where it is not there, or more than once."""
    found = {}
    for point in metadata.entry_points(group=GROUP, name=name):
        distribution = point.dist
        if distribution is not None:
            found[distribution.name] = Offer(
                name,
                point.value,
                distribution.name,
                distribution.version,
                host_requirement(distribution.requires or ()),
            )
    wanted = table.get("distribution")
    if wanted:
        found = {n: offer for n, offer in found.items() if _normal(n) == _normal(wanted)}
    if not found:
        raise LoadError(
            "not_installed",
            f"no distribution in the environment of {sys.executable} offers a pack '{name}'",
            f"install it there: {sys.executable} -m pip install …",
        )
    if len(found) > 1:
        raise LoadError(
            "ambiguous",
            f"{' and '.join(sorted(found))} both offer a pack '{name}'",
            f'choose one: distribution = "{min(found)}" in [packs.{name}]',
        )
    return next(iter(found.values()))


def _normal(distribution: str) -> str:
    return distribution.lower().replace("_", "-").replace(".", "-")
