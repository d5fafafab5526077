"""Every call has a request id of the host's own making; log lines and the result carry it."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .call import Call, Next, Result

current_call: ContextVar[Call | None] = ContextVar("mcp_host_call", default=None)
"""The call that a log line belongs to; set for the pack's code as well."""


async def request_id(call: Call, following: Next) -> Result:
    token = current_call.set(call)
    try:
        return await following(call)
    finally:
        current_call.reset(token)
