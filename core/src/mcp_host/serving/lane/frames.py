"""The frames of JSON-RPC that the lane writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_json

from .requests import Id

COMPLETE = b'{"resultType":"complete",'
"""How a result of 2026-07-28 begins; what follows the opening brace of a body stands after it."""


def stamp(key: str, value: Mapping[str, str]) -> bytes:
    """How a body ends that ends with `_meta`, with one more entry in that."""
    return b"," + to_json({key: value})[1:] + b"}"


def result(request_id: Id, body: bytes) -> bytes:
    """A result whose JSON is written already."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (to_json(request_id), body)


def modern_result(request_id: Id, body: bytes, stamp: bytes) -> bytes:
    """As `result`, of a body that ends with its `_meta`, with what 2026-07-28 adds."""
    return b"".join(
        (
            b'{"jsonrpc":"2.0","id":',
            to_json(request_id),
            b',"result":',
            COMPLETE,
            memoryview(body)[1:-2],
            stamp,
            b"}",
        )
    )


def error(request_id: Id | None, code: int, message: str, data: Any = None) -> bytes:
    """An error; `data` of None is left out."""
    told = {"code": code, "message": message, **({} if data is None else {"data": data})}
    return to_json({"jsonrpc": "2.0", "id": request_id, "error": told}, inf_nan_mode="null")


def notification(method: str, params: Mapping[str, Any]) -> bytes:
    """A notification."""
    told = {"jsonrpc": "2.0", "method": method, "params": params}
    return to_json(told, inf_nan_mode="null")
