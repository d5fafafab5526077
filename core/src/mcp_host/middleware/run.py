"""The end of the way: the call crosses the border to its pack's side, and its reply comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from ..errors import MissingCapability
from ..runtime.mailbox import NotificationMessage, Repeatable, Said
from ..runtime.messages import Answered, Asked, CallMessage, CannotAsk
from ..settings.secrets import Secrets
from .answer import PackFailed
from .call import Call, Result


class Run:
    """An answer may have `max_answer_bytes`; `secrets` are masked in what the call says on its
    way. `sends` finds the notifications that a pack may send, and the extension of each.
    """

    def __init__(
        self, max_answer_bytes: int, secrets: Secrets, sends: Callable[[str], Mapping[str, str]]
    ) -> None:
        self._secrets = secrets
        self._max_answer_bytes = max_answer_bytes
        self._sends = sends

    async def __call__(self, call: Call) -> Result:
        message = CallMessage(
            kind=call.kind,
            key=call.known.target,
            target=call.name,
            arguments=call.arguments,
            request_id=call.context.request_id,
            caller=call.context.caller,
            seconds=max(0.0, call.context.deadline - time.monotonic()),
            max_answer_bytes=self._max_answer_bytes,
            answers=call.asking.answers,
            state=call.asking.state,
            is_live=call.asking.ask is not None,
            wants_progress=call.context.channel.wants_progress,
        )
        call.began = True
        at_once = call.answer_at_once if call.at_once is not None else None
        reply = await call.place.worker.call(message, self._hear(call), at_once)
        call.began = not isinstance(reply, Asked | CannotAsk)
        if isinstance(reply, Answered | Asked):
            return reply
        if isinstance(reply, CannotAsk):
            raise MissingCapability(reply.capability)
        raise PackFailed(reply)

    def _hear(self, call: Call) -> Callable[[Said], None]:
        channel, redact = call.context.channel, self._secrets.redact_data

        def hear(said: Said) -> None:
            if isinstance(said, Repeatable):
                call.repeatable = said.is_so
            elif not isinstance(said, NotificationMessage) or self._may_send(call, said.method):
                said.masked(redact).to(channel)

        return hear

    def _may_send(self, call: Call, method: str) -> bool:
        """Whether a notification is the pack's to send, and of an extension the client has."""
        extension = self._sends(call.known.pack).get(method)
        return extension is not None and extension in call.context.caller.extensions
