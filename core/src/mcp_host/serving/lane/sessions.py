"""The lane of sessions: requests of the handshake era over HTTP, in a session that the SDK keeps.

A call that ends soon and says nothing meanwhile is answered here, with one response of JSON. Any
other goes on as a request of the SDK while it runs: event streams, what a client may fetch again
after one broke, and all else that a long call needs are the SDK's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeAlias

from ...declarations.context import Caller, ClientChannel
from ...runtime.messages import Answered
from ..connections import Connection
from . import frames
from .lane import AnswerFrame, Lane
from .late_channel import LateChannel
from .requests import Id, Usual, coerced

Pass: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""Passes the request on to the SDK, as it came."""
Respond: TypeAlias = Callable[[int, bytes], Awaitable[None]]
"""Sends the whole response: its status and its body."""

SOON = 0.05
"""Seconds after which a call goes on as a request of the SDK."""
BEGUN = "mcp_host.begun"
"""Where the scope of a request has the call that was begun for it."""
CANCELLED = (-32800, "Request cancelled")
ENDED = (-32603, "Session terminated before the request completed")


class LaneSession(Protocol):
    """One session, as the lane sees it.

    `in_flight` are the ids of its requests that are not answered, as the SDK names them; `begun`
    the calls of the lane among them, by id.
    """

    in_flight: set[str]
    begun: dict[Id, BegunCall]

    @property
    def connection(self) -> Connection:
        """The session's connection."""

    def hold(self) -> bool:
        """Keep the session from ending for want of use; False where it ends already."""

    def release(self) -> None:
        """Let the session end again when it is not used."""


class BegunCall:
    """One call in a session, and what becomes of it.

    It runs in `_task`, the task of `run`, which is None before and after. `_sdk` is the SDK's
    request, once there is one, which attaches its way to the client to `_channel`. `_ending` is
    what the client is told of a call that was cancelled in the lane.
    """

    def __init__(self, request: Usual, session: LaneSession, go_on: Pass) -> None:
        self._request = request
        self._session = session
        self._go_on = go_on
        self._channel = LateChannel(request, session.connection, self._hand_over)
        self._outcome: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[Any] | None = None
        self._sdk: asyncio.Task[None] | None = None
        self._ending: tuple[int, str] | None = None

    async def run(self, lane: Lane, caller: Caller, respond: Respond) -> None:
        """Have the call run, and its client told how it ended; `LaneSession.hold` was called."""
        session, key, stream_id = self._session, coerced(self._request.id), str(self._request.id)
        self._task = asyncio.current_task()
        session.in_flight.add(stream_id)
        session.begun[key] = self
        soon = asyncio.get_running_loop().call_later(SOON, self._hand_over)
        try:
            outcome = await self._outcome_of(lane, caller)
            self._task = None
            if self._sdk is None:
                session.in_flight.discard(stream_id)
                answer = self._answer(lane, caller, outcome)
                status = 500 if self._ending is ENDED else 200
                await respond(status, answer.frame)
            else:
                self._settle(outcome)
                await self._sdk
        except asyncio.CancelledError:
            if self._sdk is not None:
                self._sdk.cancel()
            raise
        finally:
            soon.cancel()
            self._outcome.cancel()
            if self._sdk is None:
                session.in_flight.discard(stream_id)
            del session.begun[key]
            session.release()

    async def cancel(self) -> bool:
        """Cancel the call; False where the SDK has it, and is to be told."""
        if self._sdk is None:
            self._end(CANCELLED)
            return True
        attached = asyncio.ensure_future(self._channel.attached.wait())
        await asyncio.wait({attached, self._sdk}, return_when=asyncio.FIRST_COMPLETED)
        attached.cancel()
        return False

    def session_ended(self) -> None:
        """End the call with its session; one that the SDK has is ended there."""
        if self._sdk is None:
            self._end(ENDED)

    async def outcome(self, channel: ClientChannel) -> Answered:
        """Tell the client by this channel what the call says from now on; wait for its end."""
        self._channel.attach(channel)
        try:
            return await asyncio.shield(self._outcome)
        except asyncio.CancelledError:
            self._end(CANCELLED)
            raise

    def _hand_over(self) -> None:
        """Go on as a request of the SDK, unless the call has ended."""
        if self._sdk is None and self._ending is None and self._task is not None:
            self._sdk = asyncio.create_task(self._go_on())
            self._sdk.add_done_callback(self._passed)

    def _passed(self, _: asyncio.Task[None]) -> None:
        """The SDK's request has ended; where it never came to the call, nobody waits for that."""
        if not self._channel.attached.is_set():
            self._end(ENDED)

    def _end(self, why: tuple[int, str]) -> None:
        if self._ending is None and self._task is not None:
            self._ending = why
            self._task.cancel()

    async def _outcome_of(self, lane: Lane, caller: Caller) -> Answered | Exception:
        """How the call ended; cancellation comes out only where somebody else cancels the task."""
        try:
            return await lane.call(self._request, caller, self._channel)
        except asyncio.CancelledError as cancelled:
            if self._ending is None:
                raise
            assert self._task is not None
            self._task.uncancel()
            return ConnectionError(str(cancelled))
        except Exception as error:
            return error

    def _answer(self, lane: Lane, caller: Caller, outcome: Answered | Exception) -> AnswerFrame:
        if self._ending is not None:
            request_id = None if self._ending is ENDED else self._request.id
            return AnswerFrame(frames.error(request_id, *self._ending), self._ending[0])
        return lane.frame(self._request, caller, outcome)

    def _settle(self, outcome: Answered | Exception) -> None:
        if self._outcome.done():
            return
        if isinstance(outcome, Answered):
            self._outcome.set_result(outcome)
        else:
            self._outcome.set_exception(outcome)
            self._outcome.exception()  # whoever waits has it; where nobody does, it is no matter
