"""Methods of packs that the host calls for itself, past the middleware of calls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from ..declarations.context import Caller
from ..declarations.extension import Method
from ..errors import Unavailable
from ..runtime.lifecycle import Lifecycle
from ..runtime.messages import Answered, CallMessage, Failed
from ..runtime.side import as_call_error
from .opening import wait_until_open

log = logging.getLogger("mcp_host.calls")

TIME = 30.0
"""Seconds that a pack has for one of its methods."""


class OwnMethods:
    """Calls methods of packs; `packs` are those that serve, by their names.

    An answer may have `max_answer_bytes`.
    """

    def __init__(self, packs: Mapping[str, Lifecycle], max_answer_bytes: int) -> None:
        self._packs = packs
        self._max_answer_bytes = max_answer_bytes

    async def ask(
        self,
        name: str,
        method: Method,
        arguments: Mapping[str, Any],
        caller: Caller,
        request_id: str,
        seconds: float = TIME,
    ) -> dict[str, Any]:
        """Call a method of the pack of this name; `McpHostError` where that fails."""
        async with asyncio.timeout(seconds + TIME):
            pack = self._packs[name]
            await wait_until_open(pack)
            message = CallMessage(
                kind="method",
                key=method.name,
                target=method.name,
                arguments=arguments,
                request_id=request_id,
                caller=caller,
                seconds=seconds,
                max_answer_bytes=self._max_answer_bytes,
            )
            reply = await pack.worker.call(message, lambda _: None)
        if isinstance(reply, Answered):
            return reply.data
        if isinstance(reply, Failed):
            if reply.traceback:
                extra = {"traceback": reply.traceback}
                log.error("%s of the pack '%s' failed", method.name, name, extra=extra)
            raise as_call_error(reply)
        raise Unavailable(f"{method.name} asks what nobody can be asked")
