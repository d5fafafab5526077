"""Calls of tools that run long go on behind a handle, which a pack's extension keeps.

It stands before all other middleware: what ends behind the handle is the very answer that the
client would have got, and the log has the call when it ends.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from ..declarations.context import Caller, ClientChannel, Level
from ..declarations.extension import LongCalls, Method
from ..errors import (
    EXTENSIONS,
    REQUEST_ID_KEY,
    CallError,
    McpHostError,
    MissingCapability,
    ProtocolError,
    Unavailable,
)
from ..packs.access import allows, may_read
from ..runtime.lifecycle import Lifecycle
from ..runtime.messages import Answered, Asked, CallMessage, Failed
from ..runtime.side import as_call_error
from ..settings.secrets import Secrets
from ..settings.tables import RESERVED_PACK_NAME
from ..startup.protocol import MODERN_VERSION
from .answer import ErrorEnvelope
from .call import Asking, Call, Next, Result
from .opening import wait_until_open
from .request_id import new_request_id

log = logging.getLogger("mcp_host.calls")

SOON = 0.1
"""Seconds after which a call gets its handle where the extension is required."""
TIME = 30.0
"""Seconds that the keeping pack has for one of its methods."""
WAIT = 60.0
"""Seconds that it has for `steer`; it may return before with nothing."""
PAUSE = 0.25
"""Seconds in which progress and log of a call are gathered before they are told."""
LINES = 20
"""The most lines of a call's log that are told at once; of more, the oldest are dropped."""
TRIES = 6
"""How often the keeping pack is told of something before it is given up."""


class Keeper(NamedTuple):
    """The pack that gives handles, the identifier of its extension, and how it wants them."""

    pack: str
    identifier: str
    how: LongCalls


class LongCallHandles:
    """Has long calls of tools go on behind handles, as the pack wants it that keeps them.

    `keeper` finds that pack, None where there is none; `packs` finds how a pack runs. A person has
    `asking_timeout` seconds for a question. An answer of a method may have `max_answer_bytes`.
    """

    def __init__(
        self,
        keeper: Callable[[], Keeper | None],
        packs: Callable[[str], Lifecycle],
        secrets: Secrets,
        asking_timeout: float,
        max_answer_bytes: int,
    ) -> None:
        self._keeper = keeper
        self._packs = packs
        self._envelope = ErrorEnvelope(secrets)
        self.secrets = secrets
        self.asking_timeout = asking_timeout
        self._max_answer_bytes = max_answer_bytes
        self._moved: dict[str, MovableCall] = {}
        self._steering: asyncio.Task[None] | None = None

    async def __call__(self, call: Call, following: Next) -> Result:
        keeper = self._keeper() if call.kind == "tool" and call.entry is not None else None
        if keeper is None or not self._concerns(call, keeper):
            return await following(call)
        caller, how = call.context.caller, keeper.how
        has_extension = caller.protocol == MODERN_VERSION and keeper.identifier in caller.extensions
        is_required = _matches(call.name, how.required)
        if not has_extension and is_required and caller.protocol == MODERN_VERSION:
            missing = MissingCapability(EXTENSIONS + keeper.identifier)
            return await self._refused(call, missing)
        if not has_extension and not (how.without_extension and caller.protocol):
            return await following(call)  # a command, say, which does not wait for more
        movable = MovableCall(self, keeper, call)
        if has_extension and _matches(call.name, how.asked_behind) and not await movable.move():
            assert movable.refusal is not None  # it did not move
            return await self._refused(call, movable.refusal)
        after = min(how.after, SOON) if is_required else how.after
        return await movable.outcome(following, after if has_extension else None)

    def add(self, movable: MovableCall, handle: str) -> None:
        """Keep a call that has got its handle."""
        self._moved[handle] = movable
        if self._steering is None or self._steering.done():
            self._steering = asyncio.create_task(self._steer())

    def remove(self, handle: str) -> None:
        """Forget a call that has ended."""
        self._moved.pop(handle, None)

    async def ask(
        self,
        keeper: Keeper,
        method: Method,
        arguments: Mapping[str, Any],
        caller: Caller,
        request_id: str,
        seconds: float = TIME,
    ) -> dict[str, Any]:
        """Call a method of the pack that keeps the calls; `McpHostError` where that fails."""
        async with asyncio.timeout(seconds + TIME):
            pack = self._packs(keeper.pack)
            await wait_until_open(pack)
            message = CallMessage(
                kind="method",
                key=method.name,
                target=method.name,
                arguments=arguments,
                request_id=request_id,
                caller=caller,
                seconds=seconds,
                max_answer_bytes=self._max_answer_bytes,
            )
            reply = await pack.worker.call(message, lambda _: None)
        if isinstance(reply, Answered):
            return reply.data
        if isinstance(reply, Failed):
            if reply.traceback:
                extra = {"traceback": reply.traceback}
                log.error("%s of the pack '%s' failed", method.name, keeper.pack, extra=extra)
            raise as_call_error(reply)
        raise Unavailable(f"{method.name} asks what nobody can be asked")

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
                wanted = await self.ask(
                    keeper, keeper.how.steer, {}, Caller(), new_request_id(), WAIT
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
                    self._moved[handle].answer(answers)


class MovableCall:
    """One call that can be moved behind a handle, and what it does there; the call's channel.

    Invariants: `handle` is there from when the call has moved; `_task` runs the call, and nobody
    cancels it then but who asks by the handle, or the host at its end. `_moving` is the one try to
    move. `_scope` is the call's time, while its clock runs. What it does is gathered in
    `_progress`, `_lines` and `_events`, and told by `_telling`.
    """

    def __init__(self, handles: LongCallHandles, keeper: Keeper, call: Call) -> None:
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
        self._moved = asyncio.Event()
        self._ends_at = 0.0
        self._scope: asyncio.Timeout | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._answers: asyncio.Future[Mapping[str, Any]] | None = None
        self._progress: dict[str, Any] | None = None
        self._lines: list[dict[str, Any]] = []
        self._events: list[dict[str, Any]] = []
        self._has_ended = False
        self._news = asyncio.Event()
        self._urgent = asyncio.Event()
        self._telling: asyncio.Task[None] | None = None
        call.movable = self
        call.context.redirect(self)

    @property
    def is_moved(self) -> bool:
        """Whether the client has its handle."""
        return self._handle is not None

    async def outcome(self, following: Next, after: float | None) -> Result:
        """The call's result, or the answer with its handle where that comes first."""
        self._task = asyncio.create_task(self._run(following))
        moved = asyncio.ensure_future(self._moved.wait())
        try:
            await asyncio.wait({self._task, moved}, timeout=after, return_when="FIRST_COMPLETED")
            if not self._task.done() and not self.is_moved:
                await self.move()
                await asyncio.wait({self._task, moved}, return_when="FIRST_COMPLETED")
        except asyncio.CancelledError:
            if not self.is_moved:
                self._task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await self._task
                if self._moving is not None:  # its handle is being made: let it have its end
                    await self._moving
            raise
        finally:
            moved.cancel()
            if self.is_moved:
                self._task.add_done_callback(self._ended)
        if self._answer is not None:
            return self._answer
        return self._task.result()

    # -- the move

    async def move(self) -> bool:
        """Move the call behind a handle; False where its keeper refuses, which `refusal` tells."""
        if self._moving is None:
            self._moving = asyncio.create_task(self._move())
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
            kept = await self._handles.ask(
                self.keeper, how.begin, about, context.caller, context.request_id
            )
            handle, answer = str(kept["handle"]), dict(kept["answer"])
            answer["_meta"] = {**answer.get("_meta", {}), REQUEST_ID_KEY: context.request_id}
        except (McpHostError, TimeoutError, KeyError, TypeError, ValueError) as error:
            log.info("%s %s got no handle: %s", call.kind, call.name[:200], error)
            known = isinstance(error, CallError | ProtocolError)
            self.refusal = error if known else Unavailable("No handle could be made for the call")
            return False
        self._ends_at = asyncio.get_running_loop().time() + self.limit
        self._handle = handle
        self._answer = Answered(json.dumps(answer).encode(), "moved")
        call.at_once = None
        self._handles.add(self, handle)
        self._telling = asyncio.create_task(self._tell())
        if self._progress is not None:
            self._news.set()
        if call.leave_host is not None:
            call.leave_host()
        if self._scope is not None:
            self._restart(self._scope)
        self._moved.set()
        log.info("%s %s goes on behind a handle", call.kind, call.name[:200])
        return True

    # -- the call

    async def _run(self, following: Next) -> Result:
        """Run the call; behind its handle, ask its questions there and run it with the answers."""
        result = await following(self._call)
        while isinstance(result, Asked) and await self._is_behind():
            answers = await self._ask(result.questions)
            self._call.asking = Asking(answers, result.state)
            self._call.context.redirect(self)  # as it was when the call began
            result = await following(self._call)
        return result

    async def _is_behind(self) -> bool:
        return self._moving is not None and await asyncio.shield(self._moving)

    async def _ask(self, questions: Mapping[str, Any]) -> Mapping[str, Any]:
        self._answers = asyncio.get_running_loop().create_future()
        self._say({"questions": self._handles.secrets.redact_data(dict(questions))})
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
            self._end({"cancelled": True})
        elif isinstance(error := task.exception(), ProtocolError):
            told = {"code": error.number, "message": str(error), "data": error.data}
            self._end({"error": told})
        elif error is not None:
            self._end({"error": {"code": -32603, "message": "Internal error"}})
        elif isinstance(result := task.result(), Answered):
            is_modern = self._call.context.caller.protocol == MODERN_VERSION
            kind = {"resultType": "complete"} if is_modern else {}
            self._end({"result": {**kind, **result.data}})

    def _end(self, event: dict[str, Any]) -> None:
        self._has_ended = True
        self._say(event)

    # -- the call's time

    def clock(self, scope: asyncio.Timeout, seconds: float) -> Callable[[], None]:
        """As `Movable.clock`."""
        self._scope = scope
        if self.is_moved:
            self._restart(scope)
        else:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(seconds, self._late, scope)
        return self._stop

    def _stop(self) -> None:
        self._scope = None
        if self._timer is not None:
            self._timer.cancel()

    def _restart(self, scope: asyncio.Timeout) -> None:
        """Give the call the time that it has behind its handle."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(self._ends_at, _expire, scope)

    def _late(self, scope: asyncio.Timeout) -> None:
        task = asyncio.create_task(self.move())
        task.add_done_callback(lambda moved: None if moved.result() else _expire(scope))

    # -- what the call says

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Tell how far the call is: the client, or who keeps the handle."""
        told = {"done": done, "total": total, "message": message}
        self._progress = {name: value for name, value in told.items() if value is not None}
        if self.is_moved:
            self._news.set()
        else:
            self._client.progress(done, total, message)

    def log(self, level: Level, data: Any, logger: str | None) -> None:
        """Tell a line of the call's log."""
        if not self.is_moved:
            self._client.log(level, data, logger)
            return
        self._lines = [*self._lines[1 - LINES :], {"log": {"level": level, "data": data}}]
        self._news.set()

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send the client a notification of an extension; not behind a handle."""
        if not self.is_moved:
            self._client.notify(method, params)

    def close_stream(self) -> None:
        """End the call's event stream; behind a handle it has none."""
        if not self.is_moved:
            self._client.close_stream()

    def _say(self, event: dict[str, Any]) -> None:
        self._events.append(event)
        self._news.set()
        self._urgent.set()

    async def _tell(self) -> None:
        """Tell the keeper what the call does, to its end."""
        assert self._handle is not None
        while True:
            await self._news.wait()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._urgent.wait(), PAUSE)
            is_last = self._has_ended
            progress = [{"progress": self._progress}] if self._progress is not None else []
            events = [*self._lines, *progress, *self._events]
            self._lines, self._progress, self._events = [], None, []
            self._news.clear()
            self._urgent.clear()
            await self._told(self._handle, events)
            if is_last:
                self._handles.remove(self._handle)
                return

    async def _told(self, handle: str, events: list[dict[str, Any]]) -> None:
        context, how = self._call.context, self.keeper.how
        told = {"handle": handle, "events": events}
        for attempt in range(TRIES):
            try:
                await self._handles.ask(
                    self.keeper, how.tell, told, context.caller, context.request_id
                )
                return
            except (McpHostError, TimeoutError) as error:
                log.warning("%s could not be told what a call did: %s", self.keeper.pack, error)
                await asyncio.sleep(0.5 * 2**attempt)


def _expire(scope: asyncio.Timeout) -> None:
    with suppress(RuntimeError):  # the call has ended
        scope.reschedule(asyncio.get_running_loop().time())


def _matches(name: str, globs: Any) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)
