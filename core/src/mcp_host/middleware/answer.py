"""Every call ends in a result, in questions to be answered first, or in the error envelope."""

from __future__ import annotations

import json
import logging

from ..errors import (
    CallError,
    InternalError,
    McpHostError,
    ProtocolError,
    TimedOut,
    UnknownName,
    as_protocol_error,
    as_result,
)
from ..runtime.messages import Answered, Failed
from ..runtime.side import INTERNAL, as_call_error
from ..runtime.worker import CallLost
from ..settings.secrets import Secrets
from .call import Call, Next, Result

log = logging.getLogger("mcp_host.calls")


class PackFailed(McpHostError):
    """A call failed on its pack's side; `reply` says how, in plain data."""

    def __init__(self, reply: Failed) -> None:
        super().__init__(reply.message)
        self.reply = reply


class ErrorEnvelope:
    """Turns whatever a call raises into what its client may read, secrets masked."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    async def __call__(self, call: Call, following: Next) -> Result:
        said: bool | None = None
        try:
            return await following(call)
        except ProtocolError as told:
            told.data = {**(told.data or {}), "request_id": call.context.request_id}
            raise
        except PackFailed as failed:
            error = as_call_error(failed.reply)
            said = failed.reply.retryable
            if failed.reply.traceback:
                trace = {"traceback": failed.reply.traceback}
                log.error("%s %s failed", call.kind, call.name[:200], extra=trace)
        except CallError as raised:
            error = raised
        except Exception:
            error = InternalError(INTERNAL)
            log.exception("%s %s failed in the host", call.kind, call.name[:200])
        if isinstance(error, TimedOut | CallLost):
            error.retryable = call.may_be_repeated if said is None else said
            if not error.retryable:
                error.details.setdefault("outcome", "unknown")
        envelope = self._secrets.redact_data(error.envelope(call.context.request_id))
        if call.kind == "tool" and not isinstance(error, UnknownName):
            body = json.dumps(as_result(envelope), ensure_ascii=False, separators=(",", ":"))
            return Answered(body.encode(), error.code, is_wire=True)
        raise as_protocol_error(error, envelope, call.name if call.kind == "resource" else None)
