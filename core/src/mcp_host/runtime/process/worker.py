"""A pack's side in a process of its own, behind the same shape as one in threads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...declarations.context import Caller
from ...declarations.environment import session_environment
from ...declarations.needs import chosen
from ...errors import Busy, Unavailable
from ...packs.apart import Apart
from ...packs.children.child import Child
from ...packs.children.hosted import HostedChild
from ...packs.declared import Declared, LoadError
from ..bounds import text
from ..codec import call_data, caller_data, proposals_data
from ..loop import MOMENT
from ..mailbox import Mailbox, Said
from ..messages import (
    Answered,
    CallMessage,
    Failed,
    Found,
    ProposalsMessage,
    Proposed,
    Reason,
    Reply,
)
from ..worker import ABANDONED_LIMIT, CHECK_TIMEOUT, CallLost, ServiceError
from .calls import AwaitedCall
from .child import ConnectedChild

log = logging.getLogger("mcp_host.packs")

NOTICES = 64
"""The most notices to other processes in one message."""


class ProcessWorker:
    """A pack's side in a child process; the next opening starts another where one has ended.

    Invariants:

    - `_child` is the last child that was connected, whether it is up or not; None before the first.
    - `_watched` and `_skills` are what the pack should know now. A child that is up was told each
      change of them, and one that is opened is told both.
    - A child whose calls were cancelled and do not come back within `let_go` seconds is ended.
    - `_caller` made the last call, and `_caller_data` is what tells of it: most calls of a
      connection have the same.

    All methods belong to the host's loop.
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
        self._child: ConnectedChild | None = None
        self._watched: frozenset[str] = frozenset()
        self._skills: list[dict[str, str]] = []
        self._caller = Caller()
        self._caller_data = caller_data(self._caller)

    @property
    def pid(self) -> int:
        """The child's process id; 0 where there is none."""
        child = self._up
        return child.pid if child is not None else 0

    @property
    def _up(self) -> ConnectedChild | None:
        """The child, while there is one to speak to."""
        return self._child if self._child is not None and self._child.is_up else None

    async def start(self) -> None:
        """As `Worker.start`: take the child that has declared, or have another declare the same."""
        first = self._apart.take()
        if first is not None and not first.ended.done():
            await self._connect(first)
            return
        try:
            another = await asyncio.to_thread(self._apart.start)
        except OSError as error:
            raise ServiceError(Reason(f"its process cannot be started: {text(error)}")) from None
        child = await self._connect(another)
        child.send({**self._apart.request, "declared": self._apart.told})
        await self._declare_again(child)

    async def open(self) -> None:
        """As `Worker.open`."""
        assert self._child is not None
        folders = [str(folder) for folder in self._folders]
        watched = sorted(self._watched)
        self._child.send({"open": {"folders": folders, "watched": watched, "skills": self._skills}})
        why = await self._child.opened
        if why is not None:
            raise ServiceError(why)

    async def lost(self) -> Reason:
        """As `Worker.lost`."""
        assert self._child is not None
        return await asyncio.shield(self._child.lost)

    def watched(self, uris: frozenset[str]) -> None:
        """As `Worker.watched`; a child that is opened later hears it then."""
        self._watched = uris
        if self._child is not None:
            self._child.send({"watched": sorted(uris)})

    def tell_skills(self, skills: list[dict[str, str]]) -> None:
        """Let the pack know the skills of all packs; a child that is opened later hears it then."""
        if skills != self._skills:
            self._skills = skills
            if self._child is not None:
                self._child.send({"skills": skills})

    def publish(self, notices: Sequence[str]) -> None:
        """As `Worker.publish`."""
        if self._child is not None:
            for start in range(0, len(notices), NOTICES):
                self._child.send({"publish": notices[start : start + NOTICES]})

    def drop(self) -> None:
        """As `Worker.drop`: the child gets a moment to clean up."""
        child = self._up
        if child is None:
            return
        child.give_up(Reason("what it had opened ended", code="service_lost"))
        child.ask_to_close(MOMENT)
        with suppress(RuntimeError):
            asyncio.get_running_loop().call_later(2 * MOMENT, child.finish)

    async def close(self, limit: float) -> None:
        """As `Worker.close`."""
        child = self._up
        if child is None:
            return
        limit = MOMENT if child.calls.abandoned else limit
        child.ask_to_close(limit)
        try:
            async with asyncio.timeout(limit + MOMENT):
                await child.closed.wait()
        except TimeoutError:
            log.warning("pack %s did not close within %g s", self._name, limit)
        child.give_up(Reason("it was closed", code="closed"))
        child.finish()

    async def call(
        self,
        message: CallMessage,
        hear: Callable[[Said], None],
        at_once: Callable[[Answered], bool] | None = None,
    ) -> Reply:
        """As `Worker.call`."""
        if message.caller is not self._caller:
            self._caller, self._caller_data = message.caller, caller_data(message.caller)
        told: dict[str, Any] = {"call": call_data(message, self._caller_data)}
        if not message.wants_progress:
            told["progress"] = False
        environment = session_environment.get()
        if environment is not None:
            told["environment"] = chosen(self._variables, environment)
        reply: Reply = await self._outcome(message.key, told, hear, at_once)
        return reply

    async def propose(self, message: ProposalsMessage) -> Proposed | Failed:
        """As `Worker.propose`."""
        told = {"propose": proposals_data(message)}
        reply: Proposed | Failed = await self._outcome(message.key, told)
        return reply

    def forget(self, key: str) -> None:
        """As `Worker.forget`; a child that is no more has nothing to let go."""
        if self._child is not None:
            self._child.send({"forget": key})

    async def check(self) -> list[Found]:
        """As `Worker.check`."""
        try:
            async with asyncio.timeout(CHECK_TIMEOUT * self._checks + 1):
                found: list[Found] = await self._outcome("its checks", {"check": True})
        except (TimeoutError, CallLost) as error:
            return [Found(f"its checks were not finished: {error or 'they took too long'}")]
        return found

    async def _connect(self, process: Child | HostedChild) -> ConnectedChild:
        child = self._child = ConnectedChild(
            self._apart, process, self._mailbox, self._on_abandoned, self._let_go
        )
        await child.connect()
        return child

    async def _declare_again(self, child: ConnectedChild) -> None:
        """Wait until another child has declared the same as the first."""
        before = self._apart.told
        message = await child.declares()
        if "refused" in message:
            _, reason, remedy = (text(part) for part in message["refused"])
            raise ServiceError(Reason(reason, remedy))
        try:
            self._apart.declared(message)
        except LoadError as error:
            why = error.condition
            raise ServiceError(Reason(why.reason, why.remedy)) from None
        if self._apart.told != before:
            self._apart.told = before
            raise ServiceError(
                Reason(
                    "it declares other tools, resources or prompts than when the host started",
                    "restart the host",
                )
            )

    async def _outcome(
        self,
        what: str,
        message: dict[str, Any],
        hear: Callable[[Said], None] | None = None,
        at_once: Callable[[Answered], bool] | None = None,
    ) -> Any:
        """Have the child do something; `Busy` while too many calls of it never came back."""
        child = self._up
        if child is None:
            raise Unavailable(f"The pack '{self._name}' is not open")
        abandoned = child.calls.abandoned
        if abandoned >= ABANDONED_LIMIT:
            raise Busy(
                f"The pack '{self._name}' has {abandoned} calls that never came back",
                details={"reason": "calls_abandoned"},
            )
        outcome = asyncio.get_running_loop().create_future()
        return await child.outcome(AwaitedCall(what, outcome, hear, at_once), message)
