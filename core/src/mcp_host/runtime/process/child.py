"""One child, from its connection to the host's loop to its end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from ...packs.apart import LOG, STARTING, Apart, over, write_log
from ...packs.children.child import Child, Ended
from ...packs.children.hosted import HostedChild
from ...packs.conditions import Condition
from ..bounds import text
from ..codec import checked, found_of, list_change_of, reason_of, reply_of, said_of
from ..loop import MOMENT
from ..mailbox import Mailbox
from ..messages import NOTICE_BYTES, Answered, Asked, Reason
from ..worker import CallLost, ServiceError
from .calls import AwaitedCall, ChildCalls
from .link import link_of
from .processor import ProcessorWatch

log = logging.getLogger("mcp_host.packs")

LAST_WORDS = 2.0
"""Seconds until the supervisor has told how a child ended whose socket was closed."""
NAMED = 3
"""The most tools that a reason names."""


class ConnectedChild:
    """One child, as the host hears it; every method belongs to the host's loop.

    Invariants:

    - `is_up` until the child has ended or is given up, which never changes back. Then nothing is
      sent, `calls` are lost, and the child has nothing more to say but that it has closed.
    - `declared`, `opened` and `lost` are settled once each: by the child's word, or by its end,
      whichever comes first. A child that is given up settles none of them.
    - `closed` is set when the child says so, or has ended.
    - `_asked` has, by their state, what is set when questions are withdrawn that somebody asks.
    - `_step` is what the child does while it declares. `_killed_for` and `_over` say why the host
      has killed it; both are empty where it has not.
    """

    def __init__(
        self,
        apart: Apart,
        child: Child | HostedChild,
        mailbox: Mailbox,
        on_abandoned: Callable[[int], None],
        let_go: float,
    ) -> None:
        loop = asyncio.get_running_loop()
        self.declared: asyncio.Future[Mapping[str, Any]] = loop.create_future()
        self.opened: asyncio.Future[Reason | None] = loop.create_future()
        self.lost: asyncio.Future[Reason] = loop.create_future()
        self.closed = asyncio.Event()
        self.is_up = True
        self.calls = ChildCalls(on_abandoned)
        self._asked: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()
        self._apart = apart
        self._child = child
        self._mailbox = mailbox
        self._let_go = let_go
        self._link = link_of(child, self)
        self._processor = ProcessorWatch(
            lambda: child.pid,
            apart.cpu,
            lambda: self.calls.running,
            partial(self._kill_over, "cpu"),
        )
        self._step = STARTING
        self._killed_for = ""
        self._over = ""

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._child.pid

    async def connect(self) -> None:
        """Hear the child from now on."""
        loop = asyncio.get_running_loop()
        await self._link.connect()

        def tell(_: Any) -> None:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._ended)

        self._child.ended.add_done_callback(tell)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message; silent where the child is no more."""
        if self.is_up:
            self._link.write(message)

    async def outcome(self, call: AwaitedCall, message: dict[str, Any]) -> Any:
        """Have the child do something, and wait for what comes of it; `CallLost` where it ends.

        The message, which is this call's alone, gets its number.
        When the caller is cancelled, have the child cancel it as well, and stop waiting.
        """
        number = self.calls.begin(call)
        self._processor.begin()
        message["number"] = number
        self.send(message)
        try:
            return await call.outcome
        except asyncio.CancelledError:
            if self.calls.abandon(number):
                self.send({"cancel": number})
                asyncio.get_running_loop().call_later(self._let_go, self._look_at_abandoned)
            raise

    async def declares(self) -> Mapping[str, Any]:
        """Wait for what the child declares; `ServiceError` where one step takes too long."""
        limit = self._apart.start_timeout
        while True:
            step = self._step
            done, _ = await asyncio.wait({self.declared}, timeout=limit)
            if done:
                return self.declared.result()
            if self._step == step:
                raise ServiceError(Reason(f"{step} took longer than {limit:g} s"))

    def give_up(self, why: Reason) -> None:
        """Listen no more, and tell every call that waits why no answer will come."""
        self.is_up = False
        told = f"The pack '{self._apart.name}' ended while the call ran: {why.reason}"
        self.calls.lose(lambda: CallLost(told, details={"reason": why.code}))
        for withdrawn in self._asked.values():
            withdrawn.set()

    def ask_to_close(self, limit: float) -> None:
        """Ask the child to close within a limit, also one that is given up."""
        self._link.write({"close": limit})

    def finish(self) -> None:
        """End a child that was given up."""
        self._link.close()
        self._child.kill()

    def answered(self, message: Mapping[str, Any], body: bytes, is_next: bool) -> Answered:
        """As `Hearer.answered`."""
        answered = checked(Answered(body, str(message["answered"])), message.get("result"))
        call = self.calls.awaited(message["reply"])
        if is_next and call is not None and call.at_once is not None and self._mailbox.is_quiet:
            at_once, call.at_once = call.at_once, None
            at_once(answered)
        return answered

    def hear(
        self, message: Mapping[str, Any], body: bytes, answered: Answered | None = None
    ) -> None:
        """As `Hearer.hear`."""
        if "closed" in message:
            self.closed.set()
        elif not self.is_up:
            return
        elif "reply" in message:
            self._replied(message, body, answered)
        elif "said" in message:
            call = self.calls.awaited(message["number"])
            if call is not None and call.hear is not None:
                said = said_of(message["said"])
                if said is not None:
                    call.hear(said)
        elif "withdrawn" in message:
            withdrawn = self._asked.get(str(message["withdrawn"]))
            if withdrawn is not None:
                withdrawn.set()
        elif "abandoned" in message:
            self.calls.abandoned_by_child(int(message["abandoned"]))
        elif "cancelled" in message:
            self.calls.came_back(message["cancelled"])
        elif "changed" in message:
            self._mailbox.changed(text(message["changed"]))
        elif "heard" in message:
            self._mailbox.heard(text(message["heard"], NOTICE_BYTES))
        elif "lists_changed" in message:
            self._mailbox.lists_changed()
        elif "list_changes" in message:
            for change in message["list_changes"]:
                self._mailbox.list_change(list_change_of(change))
        elif "condition" in message:
            self._mailbox.report(_condition_of(message["condition"]))
        elif LOG in message:
            write_log(self._apart.name, message)
        elif "opened" in message:
            _settle(self.opened, reason_of(message["opened"]))
        elif "lost" in message:
            _settle(self.lost, reason_of(message["lost"]))
        elif "declared" in message or "refused" in message:
            _settle(self.declared, message)
        elif "step" in message:
            self._step = text(message["step"])
        elif "changes_dropped" in message:
            count = int(message["changes_dropped"])
            log.warning("pack %s: %d changes were too many, and dropped", self._apart.name, count)

    def unreadable(self, error: Exception) -> None:
        """Give up a child whose messages are none."""
        if self.is_up:
            self._kill_for(f"does not speak: {text(error)}")

    def disconnected(self) -> None:
        """Wait for word of how a child ended that closed its end; it is ended where it lives."""
        if self.is_up and not self._child.ended.done():
            loop = asyncio.get_running_loop()
            loop.call_later(MOMENT, self._kill_disconnected)
            loop.call_later(MOMENT + LAST_WORDS, self._ended)

    def _replied(self, message: Mapping[str, Any], body: bytes, answered: Answered | None) -> None:
        outcome: Any
        if answered is not None:
            outcome = answered
        elif "found" in message:
            outcome = [found_of(one) for one in message["found"]]
        else:
            outcome = reply_of(message, body)
            if self._apart.is_brought:
                if isinstance(outcome, Answered):
                    outcome = checked(outcome)
                elif isinstance(outcome, Asked):
                    withdrawn = self._asked.setdefault(outcome.state, asyncio.Event())
                    outcome = replace(outcome, withdrawn=withdrawn)
        call = self.calls.replied(message["reply"])
        if call is not None and not call.outcome.done():
            self._mailbox.empty()  # what was said before the answer is heard before it
            if call.at_once is not None and isinstance(outcome, Answered):
                call.at_once(outcome)
            call.outcome.set_result(outcome)

    def _look_at_abandoned(self) -> None:
        """End the child where none of the abandoned calls has come back for long enough."""
        if not self.calls.abandoned:
            return
        left = self.calls.came_back_at + self._let_go - time.monotonic()
        if left > 0.01:
            asyncio.get_running_loop().call_later(left, self._look_at_abandoned)
        else:
            self._kill_for(f"did not let go within {self._let_go:g} s")

    def _kill_disconnected(self) -> None:
        if self.is_up and not self._child.ended.done():
            self._kill_for(self._killed_for or "closed its connection to the host")

    def _kill_for(self, what: str) -> None:
        self._killed_for = what
        self._child.kill()

    def _kill_over(self, limit: str) -> None:
        self._over = limit
        self._child.kill()

    def _ended(self) -> None:
        """Tell everybody who waits that the child is no more, and why."""
        if not self.is_up:
            return
        why = self._why(self._child.ended.result() if self._child.ended.done() else Ended(-9))
        self._link.close()
        self.give_up(why)
        _settle(self.opened, why)
        _settle(self.declared, {"refused": [why.code, why.reason, why.remedy]})
        _settle(self.lost, why)
        self.closed.set()

    def _why(self, ended: Ended) -> Reason:
        """Say in words how the child ended, and which tools were at work."""
        works = self.calls.works
        named = ", ".join(works[:NAMED]) + (", …" if len(works) > NAMED else "")
        within = f" in {named}" if named else ""
        if limit := ended.over or self._over:
            remedy = f"raise {limit} in [packs.{self._apart.name}], or ask for less at once"
            return Reason(over(limit) + within, remedy, code="over_limit")
        if self._killed_for:
            code = "process_stuck" if self.calls.abandoned else "process_failed"
            return Reason(f"ended: it {self._killed_for}{within}", code=code)
        remedy = "its last words, if any, are in the log"
        return Reason(f"crashed ({ended.words}{within})", remedy, code="crashed")


def _condition_of(words: Any) -> Condition | None:
    """Return what a pack says of itself: degraded, or (None) recovered."""
    if words is None:
        return None
    code, reason, remedy = words
    return Condition("degraded", text(code, 64), text(reason), text(remedy))


def _settle(future: asyncio.Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)
