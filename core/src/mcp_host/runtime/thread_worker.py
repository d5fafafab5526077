"""The usual worker: a pack's side in threads of this process."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from ..declarations.context import Context
from ..declarations.contribution import Contribution
from ..declarations.handle import Finding, PackHandle
from ..declarations.tool import Tool
from ..errors import Busy, Unavailable
from ..packs.declared import Declared
from ..packs.flight import Flight, NoFlight
from . import bounds
from .bus_side import BusSide
from .channel import SideChannel
from .crossing import Crossing
from .driver import drive, drive_on_loop, run
from .jobs import Job, Told
from .loop import MOMENT, PackLoop
from .mailbox import CallMailbox, Mailbox, Repeatable, Said
from .messages import (
    Answered,
    CallMessage,
    Failed,
    Found,
    Kind,
    ProposalsMessage,
    Proposed,
    Reason,
    Reply,
)
from .offers import Offers
from .service_task import ServiceTask
from .side import Step, Steps, failed, proposals, proposed, steps
from .threads import WorkerThreads
from .worker import ABANDONED_LIMIT, CHECK_TIMEOUT, ServiceError

log = logging.getLogger("mcp_host.packs")

T = TypeVar("T")

CLOSED = Failed("unavailable", "The pack was closed while the call ran")


class ThreadWorker:
    """A pack's side in threads of this process: an event loop, and more for plain functions.

    `on_abandoned` hears how many cancelled calls still run, whenever that changes. What the pack
    does is noted in `flight`, as long as it does it. The loop is new
    at each opening; the threads and the mailbox serve as long as the worker.

    Invariants: `_contributions` are those that were declared, and never change; `_offers` has the
    others. From `open` on there is a `_loop`, and a `_service_task` where the pack has something to
    open. `_abandoned` changes on the host's loop alone, and `on_abandoned` hears of each change.
    """

    def __init__(
        self,
        declared: Declared,
        handle: PackHandle,
        offers: Offers,
        mailbox: Mailbox,
        on_abandoned: Callable[[int], None],
        flight: Flight | None = None,
    ) -> None:
        self._flight = flight or NoFlight()
        self._declared = declared
        self._offers = offers
        self._handle = handle
        self._mailbox = mailbox
        self._on_abandoned = on_abandoned
        self._name = declared.name
        self._sends = declared.sends
        self._abandoned = 0
        self._loop: PackLoop | None = None
        self._way_back: Crossing | None = None
        self._service_task: ServiceTask | None = None
        self._bus: BusSide | None = None
        self._threads = WorkerThreads(declared.name)
        self._contributions: dict[tuple[str, str], Contribution] = {
            **{("tool", tool.name): tool for tool in declared.tools},
            **{("prompt", prompt.name): prompt for prompt in declared.prompts},
            **{
                ("method", method.name): method
                for extension in declared.extensions
                for method in extension.functions
            },
            **{("resource", resource.uri): resource for resource in declared.resources},
        }

    @property
    def service(self) -> Any:
        """What the pack opened; None before, and for a pack without a service."""
        return self._service_task.service if self._service_task is not None else None

    @property
    def loop(self) -> PackLoop | None:
        """The pack's loop; None before it is opened. In any thread."""
        return self._loop

    async def start(self) -> None:
        """As `Worker.start`: the threads are made as they are needed."""

    async def open(self) -> None:
        """As `Worker.open`."""
        self._offers.clear()
        if self._way_back is None:
            self._way_back = Crossing(asyncio.get_running_loop())
        self._loop = PackLoop(self._name)
        self._loop.start()
        opens = self._declared.opens
        if self._declared.bus is not None:
            self._bus = BusSide(self._name, self._declared.bus, self._mailbox.heard)
            opens = partial(self._bus.around, opens)
        if opens is None:
            return
        self._service_task = ServiceTask(self._loop, opens, self._handle, self._declared.errors)
        self._service_task.start()
        with self._flight.during(self._name, "opening"):
            why = await self._service_task.opened
        if why is not None:
            raise ServiceError(why)

    async def lost(self) -> Reason:
        """As `Worker.lost`."""
        if self._service_task is None:
            await asyncio.Event().wait()  # there is nothing to lose
            raise AssertionError
        await asyncio.wait({self._service_task.closed})
        return self._service_task.closed.result() or Reason("nothing was raised", expected=True)

    def watched(self, uris: frozenset[str]) -> None:
        """As `Worker.watched`: a handle in this process looks at what the host knows."""

    def publish(self, notices: Sequence[str]) -> None:
        """As `Worker.publish`."""
        if self._loop is not None and self._bus is not None:
            self._loop.post(self._bus.put, notices)

    def drop(self) -> None:
        """As `Worker.drop`."""
        if self._service_task is not None:
            self._service_task.let_go(and_stop=True)

    async def close(self, limit: float) -> None:
        """As `Worker.close`.

        A pack with abandoned calls may have lost its loop to one of them: it gets a moment only.
        """
        if self._service_task is not None and self._service_task.is_open:
            self._service_task.let_go()
            limit = MOMENT if self._abandoned else limit
            try:
                async with asyncio.timeout(limit):
                    why = await self._service_task.closed
            except TimeoutError:
                log.warning("pack %s did not close within %g s", self._name, limit)
            else:
                if why is not None:
                    trace = {"traceback": why.traceback}
                    log.warning("pack %s failed to close: %s", self._name, why.reason, extra=trace)
        if self._loop is not None:
            self._loop.stop()
        self._threads.stop()
        if self._way_back is not None:
            self._way_back.close()

    async def call(
        self,
        message: CallMessage,
        hear: Callable[[Said], None],
        at_once: Callable[[Answered], bool] | None = None,
    ) -> Reply:
        """As `Worker.call`: on the pack's loop where one of its functions is `async def`."""
        contribution = self._contribution(message.kind, message.key)
        # The host reads it at any time, and it is for nobody else: no loop need be woken for it.
        mailbox, context, work = self._prepared(message, contribution, hear, tell_host=hear)
        mapping = self._declared.errors

        def made(reply: Reply) -> Reply:
            if at_once is not None and isinstance(reply, Answered) and mailbox.shut():
                at_once(reply)
            return reply

        async def on_loop() -> Reply:
            return made(await drive_on_loop(work, mapping, self._in_thread))

        def in_thread() -> Reply:
            return made(drive(work, mapping))

        all_heard = False
        try:
            reply: Reply
            if needs_loop(contribution):
                reply = await self._on_loop(on_loop, CLOSED, context.cancel)
            else:
                reply = await self._in_new_thread(in_thread, CLOSED, context.cancel)
            all_heard = mailbox.shut()
            if not all_heard:
                self._mailbox.empty()  # what was said before the answer is heard before it
                await mailbox.drain()
            if isinstance(reply, Failed):
                reply = replace(reply, began=context.has_begun)
            return reply
        finally:
            if not all_heard:
                mailbox.close()

    def _prepared(
        self,
        message: CallMessage,
        contribution: Contribution,
        hear: Callable[[Said], None],
        tell_host: Callable[[Repeatable], None] | None = None,
    ) -> tuple[CallMailbox, Context, Steps]:
        mailbox = self._mailbox.call(hear)
        context = Context(
            message.request_id,
            message.caller,
            channel=SideChannel(mailbox, self._sends),
            on_changed=self._mailbox.changed,
        )
        context.deadline = time.monotonic() + message.seconds
        work = steps(message, contribution, self.service, context, tell_host or mailbox.say)
        return mailbox, context, self._noted(message, work)

    def _noted(self, message: CallMessage, work: Steps) -> Steps:
        """Note in the flight record that a call runs, in whatever thread, until it has ended."""
        slot = self._flight.start(self._name, "running", message.key, message.request_id)
        try:
            return (yield from work)
        finally:
            self._flight.stop(slot)

    def forget(self, key: str) -> None:
        """As `Worker.forget`."""
        self._offers.forget(key)

    def _contribution(self, kind: Kind, key: str) -> Contribution:
        found = self._contributions.get((kind, key)) or self._offers.get(key)
        if found is None:
            raise Unavailable("What was asked for is not offered any more")
        return found

    async def propose(self, message: ProposalsMessage) -> Proposed | Failed:
        """As `Worker.propose`."""
        contribution = self._contribution(message.kind, message.key)

        async def work() -> Proposed | Failed:
            try:
                step = proposals(message, contribution, self.service)
                values = await run(step, self._in_thread)
                return await self._in_thread(lambda: proposed(values, message.limit))
            except BaseException as raised:
                reply = failed(raised, self._declared.errors)
                return reply if isinstance(reply, Failed) else CLOSED

        return await self._on_loop(work, CLOSED)

    async def check(self) -> list[Found]:
        """As `Worker.check`; a check that fails is a finding as well."""
        found: list[Found] = []
        for check in self._declared.checks:

            async def work(check: Callable[[], Any] = check) -> Found | None:
                name = getattr(check, "__name__", "check")
                try:
                    finding = await run(Step(check), self._in_thread)
                except BaseException as error:
                    why = f"{type(error).__name__}: {bounds.text(error)}"
                    return Found(bounds.cut(f"the check {name} failed: {why}"))
                if not isinstance(finding, Finding):
                    return None
                return Found(bounds.text(finding.problem), bounds.text(finding.remedy))

            try:
                async with asyncio.timeout(CHECK_TIMEOUT):
                    one = await self._on_loop(work, None)
            except TimeoutError:
                name = bounds.text(getattr(check, "__name__", "check"))
                one = Found(f"the check {name} took longer than {CHECK_TIMEOUT:g} s")
            if one is not None:
                found.append(one)
        return found

    def _on_loop(
        self, work: Callable[[], Coroutine[Any, Any, T]], closed: T, told: Told = None
    ) -> Awaitable[T]:
        """Do a piece of work on the pack's loop; `told` is called before it is cancelled."""
        loop, back = self._open_loop(), self._way_back
        assert back is not None  # as long as there is a loop
        job: Job[T] = Job(back, self._came_back, told)
        # Where others are under way as well, more may come in this turn. Those whose outcomes wait
        # to be taken are not: to settle them first would keep this one waiting.
        after = asyncio.get_running_loop() if loop.jobs > back.waiting else None
        loop.way_there.post(job.begin, loop, work, closed, after=after)
        return self._outcome(job, loop)

    def _in_new_thread(self, work: Callable[[], T], closed: T, told: Told) -> Awaitable[T]:
        """Do a piece of work in one of the pack's threads, as `_on_loop`."""
        loop, back = self._open_loop(), self._way_back
        assert back is not None  # as long as there is a loop
        job: Job[T] = Job(back, self._came_back, told)
        self._threads.post(lambda: job.call(work, closed))
        return self._outcome(job, loop)

    def _open_loop(self) -> PackLoop:
        if self._abandoned >= ABANDONED_LIMIT:
            raise Busy(
                f"The pack '{self._name}' has {self._abandoned} calls that never came back",
                details={"reason": "calls_abandoned"},
            )
        if self._loop is None:
            raise Unavailable(f"The pack '{self._name}' is not open")
        return self._loop

    async def _outcome(self, job: Job[T], loop: PackLoop) -> T:
        loop.jobs += 1
        try:
            return await job.outcome
        except asyncio.CancelledError:
            if not job.ended:  # else at the same moment
                job.abandoned = True
                self._abandoned += 1
                job.tell()
                loop.way_there.post(job.cancel)
                self._on_abandoned(self._abandoned)
            raise
        finally:
            loop.jobs -= 1
            loop.ended += 1

    def _came_back(self) -> None:
        self._abandoned -= 1
        self._on_abandoned(self._abandoned)

    def _in_thread(self, function: Callable[[], T]) -> Awaitable[T]:
        """Call a function in one of the pack's threads; awaited on the pack's loop."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def settle(value: T | None, error: BaseException | None) -> None:
            if done.cancelled():
                return
            if error is None:
                done.set_result(value)  # type: ignore[arg-type]  # there where nothing was raised
            else:
                done.set_exception(error)

        def call() -> None:
            value, error = None, None
            try:
                value = function()
            except StopIteration as raised:  # no future takes this one
                error = RuntimeError("StopIteration in a pack")
                error.__cause__ = raised
            except BaseException as raised:
                error = raised  # type: ignore[assignment]
            with suppress(RuntimeError):  # the pack's loop has ended, and nobody waits any more
                loop.call_soon_threadsafe(settle, value, error)

        self._threads.post(call)
        return done


def needs_loop(contribution: Contribution) -> bool:
    """Return whether a call of it runs on the pack's loop: one of its functions is `async def`."""
    signature = contribution.signature
    if signature.is_async:
        return True
    functions: list[object] = [asked.ask.question for asked in signature.questions.values()]
    if isinstance(contribution, Tool) and callable(contribution.idempotent):
        functions.append(contribution.idempotent)
    return any(inspect.iscoroutinefunction(function) for function in functions)
