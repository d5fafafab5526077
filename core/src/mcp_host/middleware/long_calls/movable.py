"""One call that can be moved behind a handle."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from ...declarations.context import ClientChannel, Level
from ...declarations.extension import LongCalls
from ...errors import REQUEST_ID_KEY, CallError, McpHostError, ProtocolError, Unavailable
from ...runtime import eager
from ...runtime.alarms import Alarms, TimeLimit
from ...runtime.messages import Answered, Asked
from ...settings.secrets import Secrets
from ...startup.protocol import MODERN_VERSION
from ..call import Asking, Call, Next, Result
from ..own_methods import OwnMethods
from .deadline import MovableDeadline
from .news import Event, News

log = logging.getLogger("mcp_host.calls")

TRIES = 6
"""How often the keeping pack is told of something before it is given up."""


class Keeper(NamedTuple):
    """The pack that gives handles, the identifier of its extension, and how it wants them."""

    pack: str
    identifier: str
    how: LongCalls


class Handles(Protocol):
    """What a call asks of those that have moved, which is `LongCallHandles`."""

    own: OwnMethods
    secrets: Secrets
    asking_timeout: float

    def add(self, movable: MovableCall, handle: str) -> None:
        """Keep a call that has got its handle."""

    def remove(self, handle: str) -> None:
        """Forget a call that has ended."""


class MovableCall:
    """One call that can be moved behind a handle, and what it does there; the call's channel.

    Invariants: `_handle` and `_answer` are there from when the call has moved. `_task` runs the
    call, and nobody cancels it then but who asks by the handle, or the host at its end. `_settled`
    is done when the client can have its answer, by one or the other. `_moving` is the one try to
    move, `_answers` what is waited for while the call asks. What it does is noted in `_news`, and
    told by `_telling` once it has moved.
    """

    def __init__(self, handles: Handles, keeper: Keeper, call: Call) -> None:
        self.keeper = keeper
        self.limit = keeper.how.limit
        self.refusal: Exception | None = None
        self._handles = handles
        self._call = call
        self._handle: str | None = None
        self._answer: Answered | None = None
        self._client: ClientChannel = call.context.channel
        self._task: asyncio.Task[Result] | None = None
        self._moving: asyncio.Task[bool] | None = None
        self._settled: asyncio.Future[None] | None = None
        self._deadline = MovableDeadline(self.limit, self.move)
        self._answers: asyncio.Future[Mapping[str, Any]] | None = None
        self._news = News(self._tell)
        self._telling: asyncio.Task[None] | None = None
        call.movable = self
        call.context.redirect(self)

    @property
    def is_moved(self) -> bool:
        """Whether the client has its handle."""
        return self._handle is not None

    async def outcome(self, following: Next, after: float | None) -> Result:
        """The call's result, or the answer with its handle where that comes first."""
        loop = asyncio.get_running_loop()
        self._settled = loop.create_future()
        self._task = eager.start(self._run(following))
        if self.is_moved:  # before it began
            self._settle()
        elif self._task.done():
            return self._task.result()
        timer = loop.call_later(after, self._begin_to_move) if after is not None else None
        try:
            await self._settled
            if self._moving is not None:  # its handle is being made
                await asyncio.shield(self._moving)
        except asyncio.CancelledError:
            if not self.is_moved:
                self._task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await self._task
                if self._moving is not None:  # its handle is being made: let it have its end
                    await self._moving
            raise
        finally:
            if timer is not None:
                timer.cancel()
            if self.is_moved:
                self._task.add_done_callback(self._ended)
        if self._answer is not None:
            return self._answer
        return await self._task

    def _begin_to_move(self) -> None:
        if self._moving is None:
            self._moving = asyncio.create_task(self._move())

    def _settle(self) -> None:
        """Let the client have its answer: the call has ended or has its handle."""
        if self._settled is not None and not self._settled.done():
            self._settled.set_result(None)

    async def move(self) -> bool:
        """Move the call behind a handle; False where its keeper refuses, which `refusal` tells."""
        self._begin_to_move()
        assert self._moving is not None
        return await asyncio.shield(self._moving)

    async def _move(self) -> bool:
        call, how = self._call, self.keeper.how
        about = {
            "tool": call.name,
            "limit": self.limit,
            "has_output_schema": "outputSchema" in call.known.listed,
        }
        context = call.context
        try:
            kept = await self._handles.own.ask(
                self.keeper.pack, how.begin, about, context.caller, context.request_id
            )
            handle, answer = str(kept["handle"]), dict(kept["answer"])
            answer["_meta"] = {**answer.get("_meta", {}), REQUEST_ID_KEY: context.request_id}
        except (McpHostError, TimeoutError, KeyError, TypeError, ValueError) as error:
            log.info("%s %s got no handle: %s", call.kind, call.name[:200], error)
            known = isinstance(error, CallError | ProtocolError)
            self.refusal = error if known else Unavailable("No handle could be made for the call")
            return False
        self._handle = handle
        self._answer = Answered(json.dumps(answer).encode(), "moved")
        call.at_once = None
        self._handles.add(self, handle)
        self._telling = asyncio.create_task(self._tell_all())
        if call.leave_host is not None:
            call.leave_host()
        self._deadline.extend()
        self._settle()
        log.info("%s %s goes on behind a handle", call.kind, call.name[:200])
        return True

    async def _run(self, following: Next) -> Result:
        """Run the call; behind its handle, ask its questions there and run it with the answers."""
        try:
            result = await following(self._call)
            while isinstance(result, Asked) and await self._is_behind():
                answers = await self._ask(result.questions)
                self._call.asking = Asking(answers, result.state)
                self._call.context.redirect(self)  # as it was when the call began
                result = await following(self._call)
            return result
        finally:
            self._settle()

    async def _is_behind(self) -> bool:
        return self._moving is not None and await asyncio.shield(self._moving)

    async def _ask(self, questions: Mapping[str, Any]) -> Mapping[str, Any]:
        self._answers = asyncio.get_running_loop().create_future()
        self._news.say({"questions": self._handles.secrets.redact_data(dict(questions))})
        try:
            async with asyncio.timeout(self._handles.asking_timeout):
                return await self._answers
        except TimeoutError:
            return {name: {"action": "cancel"} for name in questions}
        finally:
            self._answers = None

    def answer(self, answers: Mapping[str, Any]) -> None:
        """Take the answers to what the call asks; nothing where it asks nothing."""
        if self._answers is not None and not self._answers.done():
            self._answers.set_result(answers)

    def cancel(self) -> None:
        """Cancel the call, as its caller wants by the handle."""
        if self._task is not None:
            self._task.cancel()

    async def abandon(self) -> None:
        """Cancel the call and tell nobody: the host ends."""
        for task in (self._telling, self._task):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Result]) -> None:
        if task.cancelled():
            self._news.end({"cancelled": True})
        elif isinstance(error := task.exception(), ProtocolError):
            told = {"code": error.number, "message": str(error), "data": error.data}
            self._news.end({"error": told})
        elif error is not None:
            self._news.end({"error": {"code": -32603, "message": "Internal error"}})
        elif isinstance(result := task.result(), Answered):
            is_modern = self._call.context.caller.protocol == MODERN_VERSION
            kind = {"resultType": "complete"} if is_modern else {}
            self._news.end({"result": {**kind, **result.data}})

    def limited(self, alarms: Alarms, seconds: float) -> TimeLimit:
        """As `Movable.limited`."""
        return self._deadline.limited(alarms, seconds)

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Tell how far the call is: the client, or who keeps the handle."""
        self._news.progress(done, total, message)
        if not self.is_moved:
            self._client.progress(done, total, message)

    def log(self, level: Level, data: Any, logger: str | None) -> None:
        """Tell a line of the call's log."""
        if self.is_moved:
            self._news.log(level, data)
        else:
            self._client.log(level, data, logger)

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send the client a notification of an extension; not behind a handle."""
        if not self.is_moved:
            self._client.notify(method, params)

    def close_stream(self) -> None:
        """End the call's event stream; behind a handle it has none."""
        if not self.is_moved:
            self._client.close_stream()

    async def _tell_all(self) -> None:
        """Tell the keeper what the call does, to its end."""
        await self._news.run()
        assert self._handle is not None  # it has moved
        self._handles.remove(self._handle)

    async def _tell(self, events: list[Event]) -> None:
        context, how = self._call.context, self.keeper.how
        told = {"handle": self._handle, "events": events}
        for attempt in range(TRIES):
            try:
                await self._handles.own.ask(
                    self.keeper.pack, how.tell, told, context.caller, context.request_id
                )
                return
            except (McpHostError, TimeoutError) as error:
                log.warning("%s could not be told what a call did: %s", self.keeper.pack, error)
                await asyncio.sleep(0.5 * 2**attempt)
