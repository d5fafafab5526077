"""How every call ended and how long it took, told to whoever keeps account of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import NamedTuple, TypeAlias

from ..errors import ProtocolError
from ..runtime.messages import Answered
from .call import Call, Next, Result

log = logging.getLogger("mcp_host.calls")


class CallEnd(NamedTuple):
    """How a call ended: `code` is "ok", "input_required", "cancelled", or that of its error.

    `answer_bytes` is the length of what the client gets, 0 where the call has no result.
    """

    code: str
    milliseconds: float
    answer_bytes: int


def code_of(error: BaseException) -> str:
    """The code of a call that ended so."""
    if isinstance(error, ProtocolError):
        return str((error.data or {}).get("code", error.number))
    return "cancelled" if isinstance(error, asyncio.CancelledError) else "internal_error"


OutcomeListener: TypeAlias = Callable[[Call, CallEnd], None]


class Outcomes:
    """Tells every listener once the answer is out: now, or in the loop's next turn."""

    def __init__(self, listeners: Sequence[OutcomeListener]) -> None:
        self._listeners = listeners

    async def __call__(self, call: Call, following: Next) -> Result:
        start = perf_counter()
        code, size = "", 0
        try:
            result = await following(call)
            if isinstance(result, Answered):
                code, size = result.code, len(result.body)
            else:
                code = "input_required"
            return result
        except BaseException as error:
            code = code_of(error)
            raise
        finally:
            ended = CallEnd(code, 1000 * (perf_counter() - start), size)
            if call.is_answered:
                self._tell(call, ended)
            else:
                asyncio.get_running_loop().call_soon(self._tell, call, ended)

    def _tell(self, call: Call, ended: CallEnd) -> None:
        for listener in self._listeners:
            try:
                listener(call, ended)
            except Exception:  # the call has ended as it has, whoever failed to note that
                log.exception("how %s %s ended was not noted", call.kind, call.name[:200])
