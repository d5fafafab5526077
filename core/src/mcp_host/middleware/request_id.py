"""Every call has a request id of the host's own making; the result carries it."""

from __future__ import annotations

from contextvars import ContextVar

from ..calls import Call, Next, Wire
from ..errors import REQUEST_ID_KEY

current_call: ContextVar[Call | None] = ContextVar("mcp_host_call", default=None)
"""The call that a log line belongs to; set for the pack's code as well."""


async def request_id(call: Call, following: Next) -> Wire:
    token = current_call.set(call)
    try:
        result = await following(call)
    finally:
        current_call.reset(token)
    meta = result.get("_meta", {})
    return {**result, "_meta": {**meta, REQUEST_ID_KEY: call.context.request_id}}
