"""One call that can be moved behind a handle, until it is."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Coroutine, Mapping
from typing import Any, cast

from ...declarations.context import ClientChannel, Level
from ...declarations.extension import LongCalls
from ...errors import REQUEST_ID_KEY, CallError, McpHostError, ProtocolError, Unavailable
from ...runtime import eager
from ...runtime.alarms import Alarms, TimeLimit
from ...runtime.detachable import Detachable
from ...runtime.messages import Answered, Asked
from ..call import Call, Next, Result
from .moved import Handles, Keeper, MovedCall

log = logging.getLogger("mcp_host.calls")

MOMENT = 0.01
"""Seconds until it is tried again to detach a task that is about to go on."""


class MovableCall:
    """One call that can be moved behind a handle; its channel.

    It runs in the task of its request, so that a call which never moves costs next to nothing
    more. When it moves, that task is let go with the answer that has the handle, and the call goes
    on in a task of its own.

    `keeper` is None while it is not there: the call gets no handle then.

    Invariants: `_work` is there once it has begun in its request's task; `_moving` is the one try
    to move, and `_moved` is there once that has succeeded. `_progress` is what the call said last
    before. `_scope` is the block of its time: a tool's own seconds until it has moved, and what it
    has behind its handle from then on, until `_ends_at`.
    """

    def __init__(
        self, handles: Handles, keeper: Keeper | None, call: Call, following: Next
    ) -> None:
        self.call = call
        self.limit = LongCalls.limit if keeper is None else keeper.how.limit
        self.refusal: Exception | None = None
        self._handles = handles
        self._keeper = keeper
        self._following = following
        self._client: ClientChannel = call.context.channel
        self._work: Detachable[Result] | None = None
        self._moving: asyncio.Task[bool] | None = None
        self._moved: MovedCall | None = None
        self._progress: tuple[float, float | None, str | None] | None = None
        self._scope: TimeLimit | None = None
        self._ends_at: float | None = None
        call.movable = self
        call.context.redirect(self)

    @property
    def is_moved(self) -> bool:
        """Whether the client has its handle."""
        return self._moved is not None

    def outcome(self) -> Awaitable[Result]:
        """The call's result, or the answer with its handle where that comes first."""
        coroutine = cast("Coroutine[Any, Any, Result]", self._following(self.call))
        self._work = Detachable(coroutine)
        return self._work

    async def outcome_soon(self, alarms: Alarms, seconds: float) -> Result:
        """As `outcome`; it has its handle after so many seconds, or has it already."""
        if self._moved is not None:
            self._moved.goes_on(eager.start(self._moved.run(self._following(self.call))))
            return self._moved.answer
        alarm = alarms.call_later(seconds, self._begin_to_move)
        try:
            return await self.outcome()
        finally:
            alarm.cancel()

    def let_go(self) -> None:
        """As `Movable.let_go`."""
        if self._moved is None:
            self.call.movable, self._scope = None, None
            self.call.context.redirect(self._client)

    async def move(self) -> bool:
        """Move the call behind a handle; False where its keeper refuses, which `refusal` tells."""
        return await asyncio.shield(self._begin_to_move())

    def limited(self, alarms: Alarms, seconds: float) -> TimeLimit:
        """As `Movable.limited`."""
        if self._ends_at is None:
            self._scope = alarms.limit(seconds, self._late)
        else:
            left = self._ends_at - asyncio.get_running_loop().time()
            self._scope = alarms.limit(max(0.0, left))
        return self._scope

    def _late(self) -> None:
        """Move the call, whose own time is over; end it where that cannot be."""
        scope = self._scope
        assert scope is not None  # it is late
        if self._keeper is None:
            scope.expire()
            return
        task = asyncio.ensure_future(self.move())
        task.add_done_callback(lambda moved: None if moved.result() else scope.expire())

    def _begin_to_move(self) -> asyncio.Task[bool]:
        if self._moving is None:
            self._moving = asyncio.create_task(self._move())
            if self._work is not None:
                self._work.through = self._ended_meanwhile
        return self._moving

    async def _move(self) -> bool:
        call, keeper = self.call, self._keeper
        assert keeper is not None  # nobody else has it move
        about = {
            "tool": call.name,
            "limit": self.limit,
            "has_output_schema": "outputSchema" in call.known.listed,
        }
        context = call.context
        try:
            kept = await self._handles.own.ask(
                keeper.pack, keeper.how.begin, about, context.caller, context.request_id
            )
            handle, told = str(kept["handle"]), dict(kept["answer"])
            told["_meta"] = {**told.get("_meta", {}), REQUEST_ID_KEY: context.request_id}
        except (McpHostError, TimeoutError, KeyError, TypeError, ValueError) as error:
            log.info("%s %s got no handle: %s", call.kind, call.name[:200], error)
            known = isinstance(error, CallError | ProtocolError)
            self.refusal = error if known else Unavailable("No handle could be made for the call")
            return False
        answer = Answered(json.dumps(told).encode(), "moved")
        call.at_once = None
        self._moved = MovedCall(self._handles, keeper, call, self._again, handle, answer)
        if self._progress is not None:
            self._moved.progress(*self._progress)
        call.leave_host()
        self._extend()
        asyncio.get_running_loop().call_soon(self._detach)
        log.info("%s %s goes on behind a handle", call.kind, call.name[:200])
        return True

    def _extend(self) -> None:
        """Give the call the time that it has behind its handle."""
        self._ends_at = asyncio.get_running_loop().time() + self.limit
        if self._scope is not None:
            self._scope.restart(self.limit)

    def _detach(self) -> None:
        """Let the request's task go, which answers the client; the call goes on in another."""
        moved = self._moved
        assert moved is not None
        if self._work is None or moved.has_ended:
            return
        task = self._work.detach(moved.run, moved.answer)
        if task is None:
            asyncio.get_running_loop().call_later(MOMENT, self._detach)
            return
        if self._scope is not None:
            self._scope.hand_over(task)
        moved.goes_on(task)

    def _again(self) -> Awaitable[Result]:
        """Run the call once more, with answers."""
        self.call.context.redirect(self)  # as it was when the call began
        return self._following(self.call)

    async def _ended_meanwhile(self, ended: Result | BaseException) -> Result:
        """The outcome of a call that ended while its handle was made, which has its end first."""
        assert self._moving is not None
        await asyncio.shield(self._moving)
        if self._moved is not None and isinstance(ended, Asked):
            self._work = None
            self._moved.goes_on(eager.start(self._moved.run(_given(ended))))
        elif self._moved is not None:
            self._moved.ended(ended)
        if isinstance(ended, asyncio.CancelledError):
            raise ended
        if self._moved is not None:
            return self._moved.answer
        if isinstance(ended, BaseException):
            raise ended
        return ended

    @property
    def wants_progress(self) -> bool:
        """Whether anybody hears how far the call is; who keeps its handle does."""
        return True

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Tell how far the call is: the client, or who keeps the handle."""
        if self._moved is not None:
            self._moved.progress(done, total, message)
        else:
            self._progress = done, total, message
            self._client.progress(done, total, message)

    def log(self, level: Level, data: Any, logger: str | None) -> None:
        """Tell a line of the call's log."""
        if self._moved is not None:
            self._moved.log(level, data)
        else:
            self._client.log(level, data, logger)

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send the client a notification of an extension; not behind a handle."""
        if self._moved is None:
            self._client.notify(method, params)

    def close_stream(self) -> None:
        """End the call's event stream; behind a handle it has none."""
        if self._moved is None:
            self._client.close_stream()


async def _given(result: Result) -> Result:
    """Be awaited for a result that is there."""
    return result
