"""A pack's side in a process of its own: as in threads, but that nobody there awaits a call."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from dataclasses import replace

from ..startup.dataclass import dataclass
from . import eager
from .driver import drive, drive_on_loop
from .mailbox import Said
from .messages import CallMessage, Failed, Reply
from .thread_worker import CLOSED, ThreadWorker, needs_loop


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call that nobody awaits: `run` does it, here where it `is_plain`, else on the pack's loop.

    `tell` says to it that nobody waits for its reply any more, from any thread.
    """

    run: Callable[[], None]
    tell: Callable[[], None]
    is_plain: bool


class ChildWorker(ThreadWorker):
    """A `ThreadWorker` whose calls are run by those who read them, and answered where they end."""

    def prepared(
        self,
        message: CallMessage,
        hear: Callable[[Said], None],
        done: Callable[[Reply], object],
        within: contextvars.Context,
        main: asyncio.AbstractEventLoop,
    ) -> PreparedCall:
        """Return a call that is ready to be run, which nobody awaits; in any thread.

        `done` hears the reply: at once in the thread that made it, or in the main loop where
        something else must be heard before. Raises as `call`.
        """
        contribution = self._contribution(message.kind, message.key)
        loop = self._open_loop()
        mailbox, context, work = self._prepared(message, contribution, hear)
        mapping = self._declared.errors

        def made(reply: Reply) -> None:
            if isinstance(reply, Failed):
                reply = replace(reply, began=context.has_begun)
            if mailbox.shut():
                done(reply)
            else:
                asyncio.run_coroutine_threadsafe(hear_all_and(reply), main)

        async def hear_all_and(reply: Reply) -> None:
            self._mailbox.empty()
            await mailbox.drain()
            mailbox.close()
            done(reply)

        if not needs_loop(contribution):

            def run() -> None:
                within.run(lambda: made(drive(work, mapping)))

            return PreparedCall(run, context.cancel, is_plain=True)

        tasks: list[asyncio.Task[None]] = []

        async def on_loop() -> None:
            reply: Reply = CLOSED
            try:
                reply = await drive_on_loop(work, mapping, self._in_thread)
            finally:  # also where the loop ends around it
                made(reply)

        def cancel() -> None:
            for task in tasks:
                task.cancel()

        def tell() -> None:
            context.cancel()
            loop.post(cancel)

        return PreparedCall(
            lambda: loop.post(lambda: tasks.append(eager.start(on_loop(), within))),
            tell,
            is_plain=False,
        )
