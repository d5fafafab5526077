"""The SDK's handlers of requests: ours, with their errors as the protocol's."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from ..errors import CallError, ProtocolError, as_protocol_error
from .requests import Ctx, is_modern
from .server import LegacyAwareServer

log = logging.getLogger("mcp_host.server")

Handler: TypeAlias = Callable[[Ctx, Any], Awaitable[dict[str, Any]]]
"""Answers a request, by what the SDK knows of it and its parameters."""


def add_handler(
    server: LegacyAwareServer, method: str, params: type[BaseModel], handle: Handler
) -> None:
    """Have a server answer a method; whatever is raised becomes an error of the protocol."""

    async def guarded(ctx: Ctx, given: Any) -> dict[str, Any]:
        try:
            with as_protocol_errors():
                result = await handle(ctx, given)
        except MCPError:
            raise
        except Exception:  # the handshake era would send its text to the client
            log.exception("%s failed", method)
            raise MCPError(types.INTERNAL_ERROR, "Internal error") from None
        if is_modern(ctx):
            return {"resultType": "complete", **result}
        return result

    server.add_request_handler(method, params, guarded)


@contextmanager
def as_protocol_errors() -> Iterator[None]:
    """Raise the errors of calls and of the protocol as those of the SDK."""
    try:
        yield
    except ProtocolError as error:
        raise MCPError(error.number, str(error), error.data) from None
    except CallError as error:
        raise as_mcp_error(error) from None


def as_mcp_error(error: CallError, uri: str | None = None) -> MCPError:
    """Return a call's error as one of the protocol, where no result can carry it."""
    plain = as_protocol_error(error, error.envelope(str(uuid.uuid4())), uri)
    return MCPError(plain.number, str(plain), plain.data)
