"""What becomes of a client's open requests when the host that had them is no more.

What was not changed by being begun is asked once more of the next host. All else is answered here:
that it began, and that nobody knows how it ended.
"""

from __future__ import annotations

import os

from ..handover import Handover
from ..json_text import dumps
from ..protocol import META, MODERN_VERSION
from ..records import Record
from .unfinished import splitter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ..catalogue import Catalogue
    from .unfinished import Unfinished

CALL, PROMPT = "tools/call", "prompts/get"
IN_NO_PACK = (
    "ping",
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "subscriptions/listen",
)
"""Requests that the host answers by itself."""
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
    found: Unfinished,
    catalogue: Catalogue,
    limit: int,
    done: frozenset[bytes] = frozenset(),
    guilty: frozenset[str] = frozenset(),
    owners: Mapping[str, Mapping[str, str]] | None = None,
) -> Sequel:
    """How to go on from where a conversation stands.

    Nothing of `done` is asked once more, and nothing that `guilty` packs were to do, which have
    ended the host, as far as is known. `owners` tells the pack of each tool and prompt.
    """
    may_be_repeated = _Repeatable(catalogue, guilty, owners or {})
    frames = [_withdrawn(asked) for asked in found.asked]
    repeated: list[bytes] = []
    for line, message in found.open:
        if message is None or line in done or not may_be_repeated(message):
            frames += _unknown(message, catalogue)
        else:
            repeated.append(line)
    before = Handover(
        lines=[*found.kept, *repeated],
        answered=found.answered,
        splitter=splitter(found.rest, limit),
        listed=True,
    )
    return Sequel(tuple(frames), before, frozenset(repeated))


class _Repeatable:
    """Tells which requests may be asked once more.

    Those are lists and the like, which run in no pack; and of packs that are not `guilty` what
    they only read, and calls of tools that say of themselves that calling them again does no harm.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        guilty: frozenset[str],
        owners: Mapping[str, Mapping[str, str]],
    ) -> None:
        tools = catalogue.pages["tools"]["tools"]
        hints = {tool["name"]: tool.get("annotations") or {} for tool in tools}
        doubted = owners.get("doubted", {})
        self._harmless = frozenset(
            name
            for name, hint in hints.items()
            if name not in doubted
            and (hint.get("readOnlyHint") is True or hint.get("idempotentHint") is True)
        )
        self._guilty = guilty
        self._owners = owners

    def __call__(self, message: Mapping[str, Any]) -> bool:
        method, params = message.get("method"), message.get("params")
        name = params.get("name") if isinstance(params, dict) else None
        if method == CALL:
            return name in self._harmless and self._is_innocent("tools", name)
        if method == PROMPT:
            return self._is_innocent("prompts", name)
        return method in IN_NO_PACK or not self._guilty

    def _is_innocent(self, what: str, name: object) -> bool:
        owner = self._owners.get(what, {}).get(str(name))
        return not self._guilty or (owner is not None and owner not in self._guilty)


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
        "content": [{"type": "text", "text": dumps(envelope)}],
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
    return dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def _uuid() -> str:
    """A new UUID, as the module of that name makes them."""
    value = bytearray(os.urandom(16))
    value[6] = value[6] & 0x0F | 0x40
    value[8] = value[8] & 0x3F | 0x80
    digits = value.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
