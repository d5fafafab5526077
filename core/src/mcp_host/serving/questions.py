"""Questions that are sent to the client during a call, as the handshake era has it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import BaseModel, TypeAdapter

from ..errors import Cancelled, Unsupported
from .requests import Ctx

_QUESTION: TypeAdapter[Any] = TypeAdapter(types.ServerRequest)
_ANSWERS: Mapping[str, type[BaseModel]] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}


class LiveQuestions:
    """Asks clients, until nobody is left who could answer."""

    def __init__(self) -> None:
        self._over = asyncio.Event()

    def end(self) -> None:
        """End every question that waits for its answer, and each that is yet to come."""
        self._over.set()

    async def ask(self, ctx: Ctx, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """The client's answer to a question, both in wire names.

        Raises `Cancelled` where the client refuses or has gone, and `Unsupported` where nothing can
        be sent to it during a call.
        """
        if not ctx.session.can_send_request:
            raise Unsupported(
                "This server keeps no sessions, so it cannot ask clients that speak a protocol "
                "before 2026-07-28",
                details={"reason": "stateless"},
            )
        request = _QUESTION.validate_python(question)
        asking = asyncio.ensure_future(
            ctx.session.send_request(
                request,
                _ANSWERS[request.method],
                # Without it the question goes to the GET stream, and is lost where none is open.
                metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
            )
        )
        over = asyncio.ensure_future(self._over.wait())
        try:
            await asyncio.wait({asking, over}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                raise Cancelled("The client has gone", details={"reason": "client_gone"})
            reply = asking.result()
        except MCPError as error:
            raise Cancelled(
                f"The client did not answer: {error}", details={"reason": "client_refused"}
            ) from None
        finally:
            asking.cancel()
            over.cancel()
        data: dict[str, Any] = reply.model_dump(by_alias=True, mode="json", exclude_none=True)
        return data
