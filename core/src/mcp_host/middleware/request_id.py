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


class RequestIds:
    """Makes request ids: UUIDs of version 4, many at a time.

    To ask the system for random bytes lets go of the interpreter, which another thread then takes
    in the middle of a call.
    """

    MANY = 64
    """How many are made at once."""

    def __init__(self) -> None:
        self._made: list[str] = []

    def new(self) -> str:
        """Return a new one; in one thread."""
        if not self._made:
            digits = os.urandom(16 * self.MANY).hex()
            self._made = [_uuid(digits[at : at + 32]) for at in range(0, len(digits), 32)]
        return self._made.pop()


def new_request_id() -> str:
    """A new UUID of version 4."""
    return _uuid(os.urandom(16).hex())


def _uuid(digits: str) -> str:
    """A UUID of random digits, in a third of the time that `uuid.uuid4` takes."""
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
