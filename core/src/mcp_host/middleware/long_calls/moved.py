"""One call behind its handle."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, Protocol

from ...declarations.context import Level
from ...declarations.extension import LongCalls
from ...errors import McpHostError, ProtocolError
from ...runtime.messages import Answered, Asked
from ...settings.secrets import Secrets
from ...startup.protocol import MODERN_VERSION
from ..call import Asking, Call, Result
from ..own_methods import OwnMethods
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

    def add(self, moved: MovedCall) -> None:
        """Keep a call that has got its handle."""

    def remove(self, handle: str) -> None:
        """Forget a call that has ended."""


class MovedCall:
    """What a call does behind its handle; `again` runs it once more, with answers.

    `answer` is what its client gets, with the handle.

    Invariants: `_task` is there once it runs in a task of its own, which nobody cancels but who
    asks by the handle, or the host at its end. `_answers` is what is waited for while the call
    asks. What it does is noted in `_news`, and told by `_telling` to `keeper`.
    """

    def __init__(
        self,
        handles: Handles,
        keeper: Keeper,
        call: Call,
        again: Callable[[], Awaitable[Result]],
        handle: str,
        answer: Answered,
    ) -> None:
        self.keeper = keeper
        self.handle = handle
        self.answer = answer
        self.has_ended = False
        self._handles = handles
        self._call = call
        self._again = again
        self._task: asyncio.Task[Result] | None = None
        self._answers: asyncio.Future[Mapping[str, Any]] | None = None
        self._news = News(self._tell)
        self._telling = asyncio.create_task(self._tell_all())
        handles.add(self)

    def goes_on(self, task: asyncio.Task[Result]) -> None:
        """Have the call run in this task from now on, which `run` is the coroutine of."""
        self._task = task
        task.add_done_callback(self._task_ended)

    async def run(self, first: Awaitable[Result]) -> Result:
        """Have the call end: ask its questions, and run it with the answers."""
        result = await first
        while isinstance(result, Asked):
            answers = await self._ask(result.questions)
            self._call.asking = Asking(answers, result.state)
            result = await self._again()
        return result

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

    def take(self, answers: Mapping[str, Any]) -> None:
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

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Tell how far the call is."""
        self._news.progress(done, total, message)

    def log(self, level: Level, data: Any) -> None:
        """Tell a line of the call's log."""
        self._news.log(level, data)

    def _task_ended(self, task: asyncio.Task[Result]) -> None:
        self.ended(asyncio.CancelledError() if task.cancelled() else _end_of(task))

    def ended(self, ended: Result | BaseException) -> None:
        """Tell how the call has ended."""
        self.has_ended = True
        if isinstance(ended, asyncio.CancelledError):
            self._news.end({"cancelled": True})
        elif isinstance(ended, ProtocolError):
            told = {"code": ended.number, "message": str(ended), "data": ended.data}
            self._news.end({"error": told})
        elif isinstance(ended, BaseException):
            self._news.end({"error": {"code": -32603, "message": "Internal error"}})
        elif isinstance(ended, Answered):
            is_modern = self._call.context.caller.protocol == MODERN_VERSION
            kind = {"resultType": "complete"} if is_modern else {}
            self._news.end({"result": {**kind, **ended.data}})

    async def _tell_all(self) -> None:
        """Tell the keeper what the call does, to its end."""
        await self._news.run()
        self._handles.remove(self.handle)

    async def _tell(self, events: list[Event]) -> None:
        context, how = self._call.context, self.keeper.how
        told = {"handle": self.handle, "events": events}
        for attempt in range(TRIES):
            try:
                await self._handles.own.ask(
                    self.keeper.pack, how.tell, told, context.caller, context.request_id
                )
                return
            except (McpHostError, TimeoutError) as error:
                log.warning("%s could not be told what a call did: %s", self.keeper.pack, error)
                await asyncio.sleep(0.5 * 2**attempt)


def _end_of(task: asyncio.Task[Result]) -> Result | BaseException:
    return task.exception() or task.result()
