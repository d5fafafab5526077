"""What becomes of a client's open requests when the host that had them is no more.

What was not changed by being begun is asked once more of the next host. All else is answered here:
that it began, and that nobody knows how it ended.
"""

from __future__ import annotations

import json
import os

from ..handover import Handover
from ..protocol import META, MODERN_VERSION
from ..records import Record
from .unfinished import splitter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ..catalogue import Catalogue
    from .unfinished import Unfinished

CALL = "tools/call"
ERROR_KEY, REQUEST_ID_KEY = "mcp-host/error", "mcp-host/request-id"
LOST = "The process that ran this call has ended before it had answered"


class Sequel(Record):
    """How a conversation goes on: what its client is told now, and what the next host is.

    `repeated` are the lines that are asked once more.
    """

    frames: tuple[bytes, ...]
    before: Handover
    repeated: frozenset[bytes]


def sequel(
    found: Unfinished, catalogue: Catalogue, limit: int, done: frozenset[bytes] = frozenset()
) -> Sequel:
    """How to go on from where a conversation stands; nothing of `done` is asked once more."""
    repeatable = _repeatable(catalogue)
    frames = [_withdrawn(asked) for asked in found.asked]
    repeated: list[bytes] = []
    for line, message in found.open:
        if message is None or line in done or not _may_be_repeated(message, repeatable):
            frames += _unknown(message, catalogue)
        else:
            repeated.append(line)
    before = Handover(
        lines=[*found.kept, *repeated],
        answered=found.answered,
        splitter=splitter(found.rest, limit),
    )
    return Sequel(tuple(frames), before, frozenset(repeated))


def _repeatable(catalogue: Catalogue) -> frozenset[str]:
    """The tools that say of themselves that calling them again does no harm."""
    hints = {
        tool["name"]: tool.get("annotations") or {} for tool in catalogue.pages["tools"]["tools"]
    }
    return frozenset(
        name
        for name, hint in hints.items()
        if hint.get("readOnlyHint") is True or hint.get("idempotentHint") is True
    )


def _may_be_repeated(message: Mapping[str, Any], tools: frozenset[str]) -> bool:
    if message.get("method") != CALL:
        return True  # nothing but a call changes anything
    params = message.get("params")
    return isinstance(params, dict) and params.get("name") in tools


def _unknown(message: Mapping[str, Any] | None, catalogue: Catalogue) -> Iterator[bytes]:
    """The answer to a request whose end nobody knows."""
    if message is None or "id" not in message:
        return
    request_id = _uuid()
    is_call = message.get("method") == CALL
    envelope = {
        "success": False,
        "error": LOST,
        "code": "unavailable",
        "retryable": not is_call,
        "request_id": request_id,
        "suggestions": ["look whether it was done before you call it again"] if is_call else [],
        "details": {"reason": "host_lost", **({"outcome": "unknown"} if is_call else {})},
    }
    if not is_call:
        del envelope["suggestions"]
        error = {"code": -32603, "message": LOST, "data": envelope}
        yield _frame({"id": message["id"], "error": error})
        return
    meta: dict[str, Any] = {REQUEST_ID_KEY: request_id, ERROR_KEY: envelope}
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": json.dumps(envelope)}],
        "isError": True,
        "_meta": meta,
    }
    if _is_modern(message):
        meta[META + "serverInfo"] = catalogue.info
        result["resultType"] = "complete"
    yield _frame({"id": message["id"], "result": result})


def _is_modern(message: Mapping[str, Any]) -> bool:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and meta.get(META + "protocolVersion") == MODERN_VERSION


def _withdrawn(request_id: str | int) -> bytes:
    """Tell a client that nobody waits for its answer any more."""
    params = {"requestId": request_id, "reason": "the process that asked has ended"}
    return _frame({"method": "notifications/cancelled", "params": params})


def _frame(message: Mapping[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def _uuid() -> str:
    """A new UUID, as the module of that name makes them."""
    value = bytearray(os.urandom(16))
    value[6] = value[6] & 0x0F | 0x40
    value[8] = value[8] & 0x3F | 0x80
    digits = value.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
