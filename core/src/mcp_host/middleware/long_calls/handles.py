"""Calls of tools that run long go on behind a handle, which a pack's extension keeps.

It stands before all other middleware: what ends behind the handle is the very answer that the
client would have got, and the log has the call when it ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from fnmatch import fnmatchcase
from typing import Any

from ...declarations.context import Caller
from ...declarations.extension import LongCalls
from ...errors import EXTENSIONS, McpHostError, MissingCapability
from ...packs.access import allows, may_read
from ...runtime.alarms import Alarms
from ...settings.secrets import Secrets
from ...settings.tables import RESERVED_PACK_NAME
from ...startup.protocol import MODERN_VERSION
from ..answer import ErrorEnvelope
from ..call import Call, Next, Result
from ..ending import RunningCalls
from ..own_methods import OwnMethods
from ..request_id import new_request_id
from .early import EarlyCall
from .movable import MovableCall
from .moved import Keeper, MovedCall

log = logging.getLogger("mcp_host.calls")

SOON = 0.1
"""Seconds after which a call gets its handle where the extension is required."""
WAIT = 60.0
"""Seconds that it has for `steer`; it may return before with nothing."""


class LongCallHandles:
    """Has long calls of tools go on behind handles, as the pack wants it that keeps them.

    `own` calls its methods. A person has `asking_timeout` seconds for a question.

    Invariants: `is_used` is true while there is such a pack, or one may come. `_early` has the
    running calls that came before there was one.
    """

    def __init__(
        self,
        own: OwnMethods,
        secrets: Secrets,
        asking_timeout: float,
    ) -> None:
        self.is_used = False
        self._keeper: Keeper | None = None
        self._envelope = ErrorEnvelope(secrets, RunningCalls())  # refusals, which do not run
        self.own = own
        self._alarms = Alarms()
        self.secrets = secrets
        self.asking_timeout = asking_timeout
        self._moved: dict[str, MovedCall] = {}
        self._early: set[EarlyCall] = set()
        self._steering: asyncio.Task[None] | None = None

    def __call__(self, call: Call, following: Next) -> Awaitable[Result]:
        if call.kind != "tool" or call.entry is None:
            return following(call)
        keeper = self._keeper
        if keeper is None and call.context.caller.protocol:
            return self._before_keeper(call, following)
        if keeper is None or not self._concerns(call, keeper):
            return following(call)
        caller, how = call.context.caller, keeper.how
        if _has_extension(caller, keeper):
            return self._of_extension(call, keeper, following)
        if caller.protocol == MODERN_VERSION and _matches(call.name, how.required):
            return self._refused(call, MissingCapability(EXTENSIONS + keeper.identifier))
        if not (how.without_extension and caller.protocol):
            return following(call)  # a command, say, which does not wait for more
        return MovableCall(self, keeper, call, following).outcome()

    async def _of_extension(self, call: Call, keeper: Keeper, following: Next) -> Result:
        """Pass a call of a client on that knows handles."""
        how, movable = keeper.how, MovableCall(self, keeper, call, following)
        if _matches(call.name, how.asked_behind) and not await movable.move():
            assert movable.refusal is not None  # it did not move
            return await self._refused(call, movable.refusal)
        return await movable.outcome_soon(self._alarms, _after(call, how))

    async def _before_keeper(self, call: Call, following: Next) -> Result:
        """Pass a call that came before the pack that may give it a handle."""
        early = EarlyCall(self, call, following)
        self._early.add(early)
        try:
            return await early.outcome_early()
        finally:
            self._early.discard(early)

    def kept_by(self, keeper: Keeper | None, *, may_come: bool) -> None:
        """Have this pack give the handles, also to calls that came before it; None: nobody does."""
        self._keeper, self.is_used = keeper, keeper is not None or may_come
        if keeper is not None:
            for early in self._early:
                if self._concerns(early.call, keeper):
                    self._give(keeper, early)
            self._early.clear()

    def _give(self, keeper: Keeper, early: EarlyCall) -> None:
        how, caller = keeper.how, early.call.context.caller
        if _has_extension(caller, keeper):
            early.kept_by(keeper, self._alarms, _after(early.call, how))
        elif how.without_extension:
            early.kept_by(keeper, self._alarms, None)

    def add(self, moved: MovedCall) -> None:
        """Keep a call that has got its handle."""
        self._moved[moved.handle] = moved
        if self._steering is None or self._steering.done():
            self._steering = asyncio.create_task(self._steer())

    def remove(self, handle: str) -> None:
        """Forget a call that has ended."""
        self._moved.pop(handle, None)

    async def close(self) -> None:
        """Cancel every call behind a handle; that they were cut off is for their keeper to say."""
        if self._steering is not None:
            self._steering.cancel()
            await asyncio.gather(self._steering, return_exceptions=True)
        await asyncio.gather(*(call.abandon() for call in list(self._moved.values())))

    def _concerns(self, call: Call, keeper: Keeper) -> bool:
        """Whether a call may be moved: not one of the keeper's own, nor one that is refused."""
        entry = call.known
        if entry.pack == keeper.pack or _matches(call.name, keeper.how.never):
            return False
        if entry.pack == RESERVED_PACK_NAME:
            return entry.is_hosts_tool
        caller = call.context.caller
        return allows(entry, caller) and may_read(keeper.pack, caller)

    async def _refused(self, call: Call, error: Exception) -> Result:
        async def refuse(_: Call) -> Result:
            raise error

        return await self._envelope(call, refuse)

    async def _steer(self) -> None:
        """Do what is wanted of the calls behind handles, as long as there are any."""
        while self._moved:
            keeper = next(iter(self._moved.values())).keeper
            try:
                wanted = await self.own.ask(
                    keeper.pack, keeper.how.steer, {}, Caller(), new_request_id(), WAIT
                )
            except (McpHostError, TimeoutError) as error:
                log.debug("nothing was heard of calls behind handles: %s", error)
                await asyncio.sleep(1)
                continue
            for handle in wanted.get("cancel") or ():
                if handle in self._moved:
                    self._moved[handle].cancel()
            for handle, answers in (wanted.get("answers") or {}).items():
                if handle in self._moved:
                    self._moved[handle].take(answers)


def _has_extension(caller: Caller, keeper: Keeper) -> bool:
    return caller.protocol == MODERN_VERSION and keeper.identifier in caller.extensions


def _after(call: Call, how: LongCalls) -> float:
    """Seconds after which a call of a client on that knows handles gets one."""
    return min(how.after, SOON) if _matches(call.name, how.required) else how.after


def _matches(name: str, globs: Any) -> bool:
    return bool(globs) and any(fnmatchcase(name, glob) for glob in globs)
