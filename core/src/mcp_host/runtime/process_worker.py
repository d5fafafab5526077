"""A pack's side in a process of its own, behind the same shape as one in threads."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from ..declarations.environment import session_environment
from ..declarations.needs import chosen
from ..errors import Busy, Unavailable
from ..packs.apart import LOG, STARTING, Apart, over, write_log
from ..packs.children.child import Child, Ended
from ..packs.children.frames import FrameError, frame
from ..packs.conditions import Condition
from ..packs.declared import Declared, LoadError
from .bounds import text
from .codec import (
    call_data,
    checked,
    found_of,
    list_change_of,
    proposals_data,
    reason_of,
    reply_of,
    said_of,
)
from .loop import MOMENT
from .mailbox import Mailbox, Said
from .messages import (
    Answered,
    CallMessage,
    Failed,
    Found,
    ProposalsMessage,
    Proposed,
    Reason as Why,
    Reply,
)
from .worker import ABANDONED_LIMIT, CHECK_TIMEOUT, CallLost, ServiceError

log = logging.getLogger("mcp_host.packs")

LAST_WORDS = 2.0
"""Seconds until the supervisor has told how a child ended whose socket was closed."""
LOOK = 0.2
"""Seconds between two looks at the processor time of calls, where that has a limit."""
TURN, REST = 0.005, 2.0
"""Seconds that the host's loop hears one child without a pause, and how much longer a pause is."""
NAMED = 3
"""The most tools that a reason names."""


@dataclass(eq=False)
class _Waiting:
    """Something that the child was told to do: what it is, and who waits for its outcome."""

    what: str
    outcome: asyncio.Future[Any]
    hear: Callable[[Said], None] | None = None
    at_once: Callable[[Answered], bool] | None = None


class ProcessorTime:
    """The processor time of each call in one process, in seconds; `limit` is that of one call.

    What the process took between two looks is shared by the calls that ran then.
    """

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self._seen = 0.0
        self._used: dict[int, float] = {}

    def begin(self, pid: int) -> None:
        """Count from now on."""
        self._seen = _processor_seconds(pid)

    def who_is_over(self, pid: int, running: Sequence[int]) -> int | None:
        """Return one of the calls that run and have taken more than they may."""
        assert self.limit is not None
        now = _processor_seconds(pid)
        share = (now - self._seen) / len(running)
        self._seen = now
        self._used = {number: self._used.get(number, 0.0) + share for number in running}
        limit = self.limit
        return next((number for number, used in self._used.items() if used > limit), None)


class ProcessWorker:
    """A pack's side in a child process; the next opening starts another where one has ended.

    `_waiting` are the calls that somebody waits for, and `_abandoned` those that were cancelled and
    have not come back, by their numbers. `_behind` is how many calls the child has abandoned
    itself. Both count as abandoned; where none of them comes back within `let_go` seconds, the
    child is ended. All methods belong to the host's loop.
    """

    def __init__(
        self,
        declared: Declared,
        apart: Apart,
        folders: tuple[Path, Path],
        mailbox: Mailbox,
        on_abandoned: Callable[[int], None],
        let_go: float,
    ) -> None:
        self._name = declared.name
        self._checks = len(declared.checks)
        self._variables = declared.needs.environment
        self._apart = apart
        self._folders = folders
        self._mailbox = mailbox
        self._on_abandoned = on_abandoned
        self._let_go = let_go
        self._child: Child | None = None
        self._link: _Link | None = None
        self._number = 0
        self._waiting: dict[int, _Waiting] = {}
        self._abandoned: dict[int, str] = {}
        self._behind = 0
        self._told_abandoned = 0
        self._came_back_at = 0.0
        self._opened: asyncio.Future[Why | None] | None = None
        self._declared: asyncio.Future[Mapping[str, Any]] | None = None
        self._lost: asyncio.Future[Why] | None = None
        self._closed = asyncio.Event()
        self._ended_for = self._over = ""
        self._processor = ProcessorTime(apart.cpu)
        self._is_looking = False
        self._watched: frozenset[str] = frozenset()
        self._skills: list[dict[str, str]] = []

    @property
    def pid(self) -> int:
        """The child's process id; 0 where there is none."""
        return self._child.pid if self._child is not None else 0

    async def start(self) -> None:
        """As `Worker.start`: take the child that has declared, or have another declare the same."""
        loop = asyncio.get_running_loop()
        self._opened, self._lost = loop.create_future(), loop.create_future()
        self._declared = loop.create_future()
        self._ended_for = self._over = ""
        self._set_abandoned({}, 0)
        child = self._apart.take()
        if child is not None and not child.ended.done():
            await self._connect(child)
            return
        try:
            child = await asyncio.to_thread(self._apart.start)
        except OSError as error:
            raise ServiceError(Why(f"its process cannot be started: {text(error)}")) from None
        await self._connect(child)
        self._send({**self._apart.request, "declared": self._apart.told})
        await self._declare_again()

    async def open(self) -> None:
        """As `Worker.open`."""
        assert self._opened is not None
        folders = [str(folder) for folder in self._folders]
        watched = sorted(self._watched)
        self._send({"open": {"folders": folders, "watched": watched, "skills": self._skills}})
        why = await self._opened
        if why is not None:
            raise ServiceError(why)

    async def lost(self) -> Why:
        """As `Worker.lost`."""
        assert self._lost is not None
        return await asyncio.shield(self._lost)

    def watched(self, uris: frozenset[str]) -> None:
        """As `Worker.watched`; a child that is opened later hears it then."""
        self._watched = uris
        if self._link is not None:
            self._send({"watched": sorted(uris)})

    def tell_skills(self, skills: list[dict[str, str]]) -> None:
        """Let the pack know the skills of all packs; a child that is opened later hears it then."""
        if skills != self._skills:
            self._skills = skills
            if self._link is not None:
                self._send({"skills": skills})

    def drop(self) -> None:
        """As `Worker.drop`: the child gets a moment to clean up."""
        child, link = self._child, self._link
        if child is None or link is None:
            return
        self._give_up(Why("what it had opened ended", code="service_lost"))
        link.write(frame({"close": MOMENT}))
        with suppress(RuntimeError):
            asyncio.get_running_loop().call_later(2 * MOMENT, partial(_finish, child, link))

    async def close(self, limit: float) -> None:
        """As `Worker.close`."""
        child, link = self._child, self._link
        if child is None or link is None:
            return
        limit = MOMENT if self._told_abandoned else limit
        self._closed.clear()
        link.write(frame({"close": limit}))
        try:
            async with asyncio.timeout(limit + MOMENT):
                await self._closed.wait()
        except TimeoutError:
            log.warning("pack %s did not close within %g s", self._name, limit)
        self._give_up(Why("it was closed", code="closed"))
        _finish(child, link)

    async def call(
        self,
        message: CallMessage,
        hear: Callable[[Said], None],
        at_once: Callable[[Answered], bool] | None = None,
    ) -> Reply:
        """As `Worker.call`."""
        waiting = self._new(message.key, hear, at_once)
        told: dict[str, Any] = {"call": call_data(message)}
        environment = session_environment.get()
        if environment is not None:
            told["environment"] = chosen(self._variables, environment)
        reply: Reply = await self._outcome(waiting, told)
        return reply

    async def propose(self, message: ProposalsMessage) -> Proposed | Failed:
        """As `Worker.propose`."""
        waiting = self._new(message.key)
        reply: Proposed | Failed = await self._outcome(
            waiting, {"propose": proposals_data(message)}
        )
        return reply

    def forget(self, key: str) -> None:
        """As `Worker.forget`; a child that is no more has nothing to let go."""
        if self._link is not None:
            self._send({"forget": key})

    async def check(self) -> list[Found]:
        """As `Worker.check`."""
        waiting = self._new("its checks")
        try:
            async with asyncio.timeout(CHECK_TIMEOUT * self._checks + 1):
                found: list[Found] = await self._outcome(waiting, {"check": True})
        except (TimeoutError, CallLost) as error:
            return [Found(f"its checks were not finished: {error or 'they took too long'}")]
        return found

    # -- what is asked of the child

    def _new(
        self,
        what: str,
        hear: Callable[[Said], None] | None = None,
        at_once: Callable[[Answered], bool] | None = None,
    ) -> _Waiting:
        if len(self._abandoned) + self._behind >= ABANDONED_LIMIT:
            raise Busy(
                f"The pack '{self._name}' has {len(self._abandoned) + self._behind} calls that "
                "never came back",
                details={"reason": "calls_abandoned"},
            )
        if self._link is None:
            raise Unavailable(f"The pack '{self._name}' is not open")
        return _Waiting(what, asyncio.get_running_loop().create_future(), hear, at_once)

    async def _outcome(self, waiting: _Waiting, message: dict[str, Any]) -> Any:
        self._number += 1
        number = self._number
        self._waiting[number] = waiting
        self._look_soon()
        self._send({**message, "number": number})
        try:
            return await waiting.outcome
        except asyncio.CancelledError:
            if self._waiting.pop(number, None) is not None:
                self._send({"cancel": number})
                if not self._abandoned and not self._behind:
                    self._came_back_at = time.monotonic()
                self._set_abandoned({**self._abandoned, number: waiting.what}, self._behind)
                asyncio.get_running_loop().call_later(self._let_go, self._look_at_abandoned)
            raise

    def _set_abandoned(self, abandoned: dict[int, str], behind: int) -> None:
        """Note how many calls run on, and tell where that has changed."""
        before = self._told_abandoned
        self._abandoned, self._behind = abandoned, behind
        self._told_abandoned = len(abandoned) + behind
        if self._told_abandoned < before:
            self._came_back_at = time.monotonic()
        if self._told_abandoned != before:
            self._on_abandoned(self._told_abandoned)

    def _look_at_abandoned(self) -> None:
        """End the child where none of the abandoned calls has come back for long enough."""
        if not self._told_abandoned or self._child is None:
            return
        left = self._came_back_at + self._let_go - time.monotonic()
        if left > 0.01:
            asyncio.get_running_loop().call_later(left, self._look_at_abandoned)
            return
        self._ended_for = f"did not let go within {self._let_go:g} s"
        self._child.kill()

    def _look_soon(self) -> None:
        """Look at the processor time that the calls take, as long as there are any."""
        if self._processor.limit is not None and not self._is_looking and self._child is not None:
            self._is_looking = True
            self._processor.begin(self._child.pid)
            asyncio.get_running_loop().call_later(LOOK, self._look_at_processor)

    def _look_at_processor(self) -> None:
        self._is_looking = False
        running = {**{n: w.what for n, w in self._waiting.items()}, **self._abandoned}
        if self._child is None or not running:
            return
        if self._processor.who_is_over(self._child.pid, list(running)) is not None:
            self._over = "cpu"
            self._child.kill()
            return
        self._is_looking = True
        asyncio.get_running_loop().call_later(LOOK, self._look_at_processor)

    # -- what the child says

    def hear(self, link: _Link, message: Mapping[str, Any], body: bytes) -> None:
        """Take in a message; `KeyError`, `TypeError` and `ValueError` where it is none.

        A child that was given up has nothing more to say but that it has closed.
        """
        if "closed" in message:
            self._closed.set()
        elif link is not self._link:
            return
        elif "reply" in message:
            self._replied(message, body)
        elif "said" in message:
            waiting = self._waiting.get(message["number"])
            if waiting is not None and waiting.hear is not None:
                said = said_of(message["said"])
                if said is not None:
                    waiting.hear(said)
        elif "abandoned" in message:
            self._set_abandoned(self._abandoned, int(message["abandoned"]))
        elif "cancelled" in message:
            self._came_back(message["cancelled"])
        elif "changed" in message:
            self._mailbox.changed(text(message["changed"]))
        elif "lists_changed" in message:
            self._mailbox.lists_changed()
        elif "list_changes" in message:
            for change in message["list_changes"]:
                self._mailbox.list_change(list_change_of(change))
        elif "condition" in message:
            self._reported(message["condition"])
        elif LOG in message:
            write_log(self._name, message)
        elif "opened" in message:
            _settle(self._opened, reason_of(message["opened"]))
        elif "lost" in message:
            _settle(self._lost, reason_of(message["lost"]))
        elif "declared" in message or "refused" in message:
            _settle(self._declared, message)
        elif "step" in message:
            self._step = text(message["step"])
        elif "changes_dropped" in message:
            count = int(message["changes_dropped"])
            log.warning("pack %s: %d changes were too many, and dropped", self._name, count)

    def _replied(self, message: Mapping[str, Any], body: bytes) -> None:
        number = message["reply"]
        outcome: Any
        if "found" in message:
            outcome = [found_of(one) for one in message["found"]]
        else:
            outcome = reply_of(message, body)
            if self._apart.is_brought and isinstance(outcome, Answered):
                outcome = checked(outcome)
        waiting = self._waiting.pop(number, None)
        if waiting is None:
            self._came_back(number)
        elif not waiting.outcome.done():
            self._mailbox.empty()  # what was said before the answer is heard before it
            if waiting.at_once is not None and isinstance(outcome, Answered):
                waiting.at_once(outcome)
            waiting.outcome.set_result(outcome)

    def _came_back(self, number: int) -> None:
        left = {each: what for each, what in self._abandoned.items() if each != number}
        self._set_abandoned(left, self._behind)

    def _reported(self, words: Any) -> None:
        if words is None:
            self._mailbox.report(None)
            return
        code, reason, remedy = words
        self._mailbox.report(Condition("degraded", text(code, 64), text(reason), text(remedy)))

    # -- the child

    async def _connect(self, child: Child) -> None:
        loop = asyncio.get_running_loop()
        self._child = child
        link = self._link = _Link(child, self)
        child.socket.setblocking(False)
        await loop.create_connection(lambda: link, sock=child.socket)
        link.take()

        def tell(_: Any) -> None:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self.child_ended, child)

        child.ended.add_done_callback(tell)

    async def _declare_again(self) -> None:
        """Wait until another child has declared the same as the first."""
        assert self._declared is not None
        before = self._apart.told
        self._step = STARTING
        message = await self._with_step_limit(self._declared)
        if "refused" in message:
            _, reason, remedy = (text(part) for part in message["refused"])
            raise ServiceError(Why(reason, remedy))
        try:
            self._apart.declared(message)
        except LoadError as error:
            why = error.condition
            raise ServiceError(Why(why.reason, why.remedy)) from None
        if self._apart.told != before:
            self._apart.told = before
            raise ServiceError(
                Why(
                    "it declares other tools, resources or prompts than when the host started",
                    "restart the host",
                )
            )

    async def _with_step_limit(
        self, declared: asyncio.Future[Mapping[str, Any]]
    ) -> Mapping[str, Any]:
        limit = self._apart.start_timeout
        while True:
            step = self._step
            done, _ = await asyncio.wait({declared}, timeout=limit)
            if done:
                return declared.result()
            if self._step == step:
                raise ServiceError(Why(f"{step} took longer than {limit:g} s"))

    def unreadable(self, link: _Link, error: Exception) -> None:
        """Give up a child whose messages are none."""
        if link is not self._link:
            return
        self._ended_for = f"does not speak: {text(error)}"
        if self._child is not None:
            self._child.kill()

    def disconnected(self, child: Child) -> None:
        """Wait for word of how a child ended that closed its end; it is ended where it lives."""
        if child is self._child and not child.ended.done():
            loop = asyncio.get_running_loop()
            loop.call_later(MOMENT, self._kill_if_alive, child)
            loop.call_later(MOMENT + LAST_WORDS, self.child_ended, child)

    def _kill_if_alive(self, child: Child) -> None:
        if child is self._child and not child.ended.done():
            self._ended_for = self._ended_for or "closed its connection to the host"
            child.kill()

    def child_ended(self, child: Child) -> None:
        """Tell everybody who waits that the child is no more, and why."""
        if child is not self._child:
            return
        why = self._why(child.ended.result() if child.ended.done() else Ended(-9))
        if self._link is not None:
            self._link.close()
        self._give_up(why)
        _settle(self._opened, why)
        _settle(self._declared, {"refused": [why.code, why.reason, why.remedy]})
        _settle(self._lost, why)
        self._closed.set()

    def _give_up(self, why: Why) -> None:
        """Forget the child, and tell every call that waits for it why no answer will come."""
        self._child = self._link = None
        waiting, self._waiting = self._waiting, {}
        for each in waiting.values():
            if not each.outcome.done():
                each.outcome.set_exception(
                    CallLost(
                        f"The pack '{self._name}' ended while the call ran: {why.reason}",
                        details={"reason": why.code},
                    )
                )
                each.outcome.exception()  # looked at, also where nobody waits any more
        self._set_abandoned({}, 0)

    def _why(self, ended: Ended) -> Why:
        """Say in words how the child ended, and which tools were at work."""
        running = (waiting.what for waiting in self._waiting.values())
        works = dict.fromkeys([*self._abandoned.values(), *running])
        named = ", ".join(list(works)[:NAMED]) + (", …" if len(works) > NAMED else "")
        within = f" in {named}" if named else ""
        if limit := ended.over or self._over:
            reason = over(limit) + within
            remedy = f"raise {limit} in [packs.{self._name}], or ask for less at once"
            return Why(reason, remedy, code="over_limit")
        if self._ended_for:
            code = "process_stuck" if self._told_abandoned else "process_failed"
            return Why(f"ended: it {self._ended_for}{within}", code=code)
        remedy = "its last words, if any, are in the log"
        return Why(f"crashed ({ended.words}{within})", remedy, code="crashed")

    def _send(self, message: Mapping[str, Any]) -> None:
        if self._link is not None:
            self._link.write(frame(message))


class _Link(asyncio.Protocol):
    """The host's end of a child's socket, in the host's loop.

    A child that says more than the host can hear in its turn waits: it is read no further until
    the loop has had time for others.
    """

    def __init__(self, child: Child, worker: ProcessWorker) -> None:
        self._child = child
        self._worker = worker
        self._transport: asyncio.Transport | None = None

    def write(self, data: bytes) -> None:
        """Send; silent where the child is gone, which is told in another way."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """Close the host's end."""
        if self._transport is not None:
            self._transport.abort()

    def take(self) -> None:
        """Have the messages heard that have come whole, as many as fit in a turn."""
        began = time.monotonic()
        try:
            while (one := self._child.frames.next()) is not None:
                self._worker.hear(self, *one)
                spent = time.monotonic() - began
                if spent > TURN:
                    self._rest(REST * spent)
                    return
        except (FrameError, KeyError, TypeError, ValueError, AttributeError) as error:
            self._worker.unreadable(self, error)
            self.close()

    def _rest(self, seconds: float) -> None:
        if self._transport is not None:
            self._transport.pause_reading()
            asyncio.get_running_loop().call_later(seconds, self._go_on)

    def _go_on(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
            self.take()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's has no such base

    def data_received(self, data: bytes) -> None:
        self._child.frames.feed(data)
        self.take()

    def connection_lost(self, exc: Exception | None) -> None:
        self._worker.disconnected(self._child)


def _processor_seconds(pid: int) -> float:
    """Return the processor time of a process and of its programs that have ended; Linux alone."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, after_name[11:15])) / os.sysconf("SC_CLK_TCK")


def _settle(future: asyncio.Future[Any] | None, value: Any) -> None:
    if future is not None and not future.done():
        future.set_result(value)


def _finish(child: Child, link: _Link) -> None:
    """End a child that was given up."""
    link.close()
    child.kill()
