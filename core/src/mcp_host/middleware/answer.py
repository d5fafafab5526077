"""Every call ends in a result, in questions to be answered first, or in the error envelope."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from ..calls import Call, Next, Wire
from ..errors import (
    BY_CODE,
    InternalError,
    McpHostError,
    ProtocolError,
    TimedOut,
    UnknownName,
    as_protocol_error,
    as_result,
)
from ..settings import Secrets
from .deadline import tell_what_may_follow

OWN = "mcp_host."
INTERNAL = "Something went wrong on the server; its log says what"

logger = logging.getLogger("mcp_host.calls")


class Answer:
    """Turns whatever a call raises into what its client may read, secrets masked."""

    def __init__(self, secrets: Callable[[], Secrets]) -> None:
        self._secrets = secrets

    async def __call__(self, call: Call, following: Next) -> Wire:
        try:
            return await following(call)
        except ProtocolError as told:
            told.data = {**(told.data or {}), "request_id": call.context.request_id}
            raise
        except Exception as raised:
            error = as_error(raised, call.entry.errors if call.entry else {})
            if isinstance(error, TimedOut) and error is not raised:  # a pack's own limit
                tell_what_may_follow(error, call)
            if isinstance(error, InternalError):
                logger.error(
                    "%s %s failed", call.kind, call.name[:200], exc_info=_packs_part(raised)
                )
        envelope = self._secrets().redact_data(error.envelope(call.context.request_id))
        if call.kind == "tool" and not isinstance(error, UnknownName):
            return as_result(envelope)
        raise as_protocol_error(error, envelope, call.name if call.kind == "resource" else None)


def _packs_part(raised: BaseException) -> tuple[type[BaseException], BaseException, Any]:
    """The exception with the traceback that begins where the host's own frames end."""
    traceback = raised.__traceback__
    part = traceback
    while part is not None and part.tb_frame.f_globals.get("__name__", "").startswith(OWN):
        part = part.tb_next
    return type(raised), raised, part or traceback


def as_error(raised: BaseException, mapping: Mapping[type[BaseException], str]) -> McpHostError:
    """The error a client is told: the host's own as it is, a pack's by its mapping, else internal.

    The most derived class of the mapping wins; `suggestions` and `details` of the pack's exception
    are taken over.
    """
    try:
        return _as_error(raised, mapping)
    except Exception:  # a text or an attribute of the pack's exception is faulty itself
        logger.exception("%s cannot be told to a client", type(raised).__name__)
        return InternalError(INTERNAL)


def _as_error(raised: BaseException, mapping: Mapping[type[BaseException], str]) -> McpHostError:
    if isinstance(raised, McpHostError):
        return raised
    if isinstance(raised, BaseExceptionGroup) and len(raised.exceptions) == 1:
        return _as_error(raised.exceptions[0], mapping)
    for kind in type(raised).__mro__:
        if kind in mapping:
            return BY_CODE[mapping[kind]](
                str(raised) or kind.__name__,
                suggestions=[str(s) for s in getattr(raised, "suggestions", None) or ()],
                details=getattr(raised, "details", None) or {},
            )
    return InternalError(INTERNAL)
