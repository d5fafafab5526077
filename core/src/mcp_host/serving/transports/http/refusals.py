"""Answers to requests that are not served: an error of JSON-RPC, with the HTTP status for it."""

from __future__ import annotations

import json
import uuid
from typing import Any

from mcp_types import INVALID_REQUEST
from starlette.responses import Response

from ....errors import CallError, as_protocol_error


def refusal(
    status: int,
    request_id: str | int | None,
    message: str,
    code: int = INVALID_REQUEST,
    data: Any = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """The answer to one request that is wrong."""
    error = {"code": code, "message": message, **({} if data is None else {"data": data})}
    body = json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error})
    return Response(body, status, headers, media_type="application/json")


def come_again(
    status: int, request_id: str | int | None, error: CallError, **headers: str
) -> Response:
    """The answer to a request that may pass later; `Retry-After` says when."""
    told = as_protocol_error(error, error.envelope(str(uuid.uuid4())))
    headers = {"Retry-After": str(error.details["retry_after"]), **headers}
    return refusal(status, request_id, str(told), told.number, told.data, headers)
