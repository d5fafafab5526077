"""A pack's own process: declares, opens and calls one pack, as the messages of the host say.

The pack lives behind a `ThreadWorker` here as well, so that it is served alike in both places.
"""

from __future__ import annotations

import asyncio
import contextvars
import faulthandler
import os
import socket
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from ..declarations.environment import session_environment
from ..declarations.handle import PackSkill
from ..errors import CallError
from ..packs.conditions import Condition
from ..packs.declared import Declared
from ..packs.naming import Naming
from ..startup.descriptors import private
from . import bounds
from .child_declaring import declared
from .child_worker import ChildWorker
from .codec import (
    call_of,
    list_change_data,
    proposals_of,
    reason_data,
    reply_data,
    said_data,
)
from .inlet import Inlet, Work
from .mailbox import Mailbox, Said
from .messages import Failed, ListChange, Proposed, Reason, Reply
from .offers import Offers
from .outlet import Outlet
from .pack_handle import pack_handle
from .threads import WorkerThreads
from .worker import ServiceError

LIST_CHANGES = 16
"""The most changes of lists in one message: an entry may be long."""


def main(end: socket.socket) -> NoReturn:
    """Serve one pack to the host at the other end of a socket; ends the process."""
    faulthandler.enable(private(2))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(line_buffering=True)  # what it prints last is read, too
    low = end.detach()
    host = socket.socket(fileno=private(low))
    os.close(low)
    inlet, outlet = Inlet(host), Outlet(host)
    request, _ = inlet.receive()
    side = PackSide(inlet, outlet, request, declared(request, outlet))
    asyncio.run(side.serve())
    os._exit(0)


class PackSide:
    """One pack that has declared, until its end.

    Invariants:

    - `_begun` are the calls that run, by the host's number, each as what tells it that nobody waits
      any more; `_tasks` is the other work that the host waits for. No number is in both.
    - `_worker` is there from `open` on, before which the host asks for nothing but that.
    - What is heard of calls happens in the thread that reads; all else belongs to the main thread.
    """

    def __init__(
        self, inlet: Inlet, outlet: Outlet, request: Mapping[str, Any], declared: Declared
    ) -> None:
        self._inlet = inlet
        self._outlet = outlet
        self._prefixed = request["prefixed"]
        self._secret_variables = frozenset(request["secret_variables"])
        self._declared = declared
        self._worker: ChildWorker | None = None
        self._begun: dict[int, Callable[[], None]] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._lost: asyncio.Task[None] | None = None
        self._watched: frozenset[str] = frozenset()
        self._skills: tuple[PackSkill, ...] = ()
        self._gone = asyncio.Event()

    async def serve(self) -> None:
        """Serve until the host closes."""
        loop = asyncio.get_running_loop()
        link = partial(_Link, self._outlet)
        transport, _ = await loop.create_connection(link, sock=self._outlet.socket)
        # Not in connection_made: Python before 3.11.4 begins to read after that, pause or not, and
        # what came would be taken from the inlet.
        transport.pause_reading()
        threads = WorkerThreads(self._declared.name)
        self._inlet.read_on(partial(self._hear, loop), threads.post)
        await self._gone.wait()

    def _hear(self, loop: asyncio.AbstractEventLoop, message: Mapping[str, Any]) -> Work | None:
        """Do what the host says, or have the main thread do it; in the thread that has read it."""
        if "call" in message:
            return self._begin_call(loop, message)
        loop.call_soon_threadsafe(self.hear, message)
        return None

    def hear(self, message: Mapping[str, Any]) -> None:
        """Do what the host says, but for calls."""
        number = message.get("number", 0)
        if "cancel" in message:
            if task := self._tasks.get(message["cancel"]):
                task.cancel()
            elif tell := self._begun.get(message["cancel"]):
                tell()
        elif "open" in message:
            self._lost = asyncio.create_task(self._open(message["open"]))
        elif "propose" in message:
            self._begin(number, self._propose(number, message["propose"]))
        elif "check" in message:
            self._begin(number, self._check(number))
        elif "forget" in message:
            self._forget(message["forget"])
        elif "watched" in message:
            self._watched = frozenset(message["watched"])
        elif "publish" in message:
            self._publish(message["publish"])
        elif "skills" in message:
            self._skills = tuple(PackSkill(**skill) for skill in message["skills"])
        elif "close" in message:
            self._begin(number, self._close(message["close"]))

    def _publish(self, notices: Sequence[str]) -> None:
        if self._worker is not None:
            self._worker.publish(notices)

    def _forget(self, key: str) -> None:
        if self._worker is not None:
            self._worker.forget(key)

    def _begin(self, number: int, work: Coroutine[Any, Any, None]) -> None:
        task = self._tasks[number] = asyncio.create_task(work)
        task.add_done_callback(partial(self._done, number))

    def _done(self, number: int, task: asyncio.Task[None]) -> None:
        self._tasks.pop(number, None)
        if task.cancelled():
            self._outlet.send({"cancelled": number})

    async def _open(self, about: Mapping[str, Any]) -> None:
        declared = self._declared
        data, cache = map(Path, about["folders"])
        self._watched = frozenset(about["watched"])
        self._skills = tuple(PackSkill(**skill) for skill in about.get("skills", ()))
        mailbox = Mailbox(_Sending(self._outlet), asyncio.get_running_loop(), self._outlet.is_free)
        offers = Offers(declared, mailbox.list_change)
        handle = pack_handle(
            declared,
            Naming(declared, self._prefixed),
            offers,
            mailbox,
            (data, cache),
            watched=lambda: self._watched,
            skills=lambda: self._skills,
            secret_variables=lambda: self._secret_variables,
        )
        self._worker = ChildWorker(declared, handle, offers, mailbox, self._abandoned)
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
        self, loop: asyncio.AbstractEventLoop, message: Mapping[str, Any]
    ) -> Work | None:
        """Begin a call, and return what is left to do of it here; in the thread that reads."""
        number = message["number"]
        within = contextvars.copy_context()
        within.run(session_environment.set, message.get("environment"))

        def hear(said: Said) -> None:
            self._outlet.send({"said": said_data(said), "number": number})

        def reply(reply: Reply) -> None:
            self._begun.pop(number, None)
            head, body = reply_data(reply)
            self._outlet.send_here({"reply": number, **head}, body)

        assert self._worker is not None
        try:
            call = self._worker.prepared(call_of(message["call"]), hear, reply, within, loop)
        except CallError as error:
            reply(_refused(error))
            return None
        self._begun[number] = call.tell
        if call.is_plain:
            return call.run
        call.run()
        return None

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
    """The main loop's end of the socket, for what is written; what comes is the inlet's."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._outlet.connected(transport)

    def pause_writing(self) -> None:
        self._outlet.set_free(False)

    def resume_writing(self) -> None:
        self._outlet.set_free(True)

    def connection_lost(self, exc: Exception | None) -> None:
        os._exit(0)  # the host has closed its end: there is nobody to serve


class _Sending:
    """Hears the pack's mailbox, and sends what is in it on."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet

    def changed(self, uri: str) -> None:
        self._outlet.send({"changed": uri})

    def heard(self, notice: str) -> None:
        self._outlet.send({"heard": notice})

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
