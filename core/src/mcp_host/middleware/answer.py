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
    Unavailable,
    UnknownName,
    as_protocol_error,
    as_result,
)
from ..runtime.messages import Answered, Failed
from ..runtime.side import INTERNAL, as_call_error
from ..runtime.worker import CallLost
from ..settings.secrets import Secrets
from .call import Call, Next, Result
from .ending import RunningCalls, ServerEnding

log = logging.getLogger("mcp_host.calls")


class PackFailed(McpHostError):
    """A call failed on its pack's side; `reply` says how, in plain data."""

    def __init__(self, reply: Failed) -> None:
        super().__init__(reply.message)
        self.reply = reply


class ErrorEnvelope:
    """Turns whatever a call raises into what its client may read, secrets masked."""

    def __init__(self, secrets: Secrets, running: RunningCalls) -> None:
        self._secrets = secrets
        self._running = running

    async def __call__(self, call: Call, following: Next) -> Result:
        try:
            with self._running.block():
                return await following(call)
        except ProtocolError as told:
            told.data = {**(told.data or {}), "request_id": call.context.request_id}
            raise
        except PackFailed as failed:
            error = _judged(call, failed.reply)
            if failed.reply.traceback:
                trace = {"traceback": failed.reply.traceback}
                log.error("%s %s failed", call.kind, call.name[:200], extra=trace)
        except (TimedOut, CallLost, ServerEnding) as late:
            error = late
            _judge(call, error, did_nothing=not call.began)
        except CallError as raised:
            error = raised
        except Exception:
            error = InternalError(INTERNAL)
            log.exception("%s %s failed in the host", call.kind, call.name[:200])
        envelope = self._secrets.redact_data(error.envelope(call.context.request_id))
        if call.kind == "tool" and not isinstance(error, UnknownName):
            body = json.dumps(as_result(envelope), ensure_ascii=False, separators=(",", ":"))
            return Answered(body.encode(), error.code, is_wire=True)
        raise as_protocol_error(error, envelope, call.name if call.kind == "resource" else None)


def _judged(call: Call, reply: Failed) -> CallError:
    """Return the error that a pack's side tells of; its own word about repeating counts first."""
    error = as_call_error(reply)
    if not isinstance(error, TimedOut | Unavailable):
        return error
    did_nothing = reply.sent is False or not reply.began
    if reply.retryable is None:
        _judge(call, error, did_nothing=did_nothing)
    elif isinstance(error, TimedOut) and not (error.retryable or did_nothing):
        error.details.setdefault("outcome", "unknown")
    return error


def _judge(call: Call, error: CallError, *, did_nothing: bool) -> None:
    """Say whether the call may be sent again; if not, whether it has done its work is not known."""
    error.retryable = did_nothing or call.may_be_repeated
    if not error.retryable:
        error.details.setdefault("outcome", "unknown")
