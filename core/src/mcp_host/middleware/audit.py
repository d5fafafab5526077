"""The audit: a record of every call, with the shapes of its arguments and never their values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from ..declarations.resource import Resource
from ..packs.naming import NAME
from .call import Call
from .outcomes import CallEnd

Write = Callable[[bytes], None]
KINDS: Mapping[type, str] = {
    str: "string",
    list: "array",
    dict: "object",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}
NAME_LENGTH = 200
SIZED = (str, list, dict)


class Audit:
    """Makes a line of JSON of every call that has ended, and hands it to `write`."""

    def __init__(self, write: Write) -> None:
        self._write = write

    def __call__(self, call: Call, ended: CallEnd) -> None:
        record = _record(call, ended)
        self._write(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


def _record(call: Call, ended: CallEnd) -> dict[str, Any]:
    caller, entry = call.context.caller, call.entry
    return {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "request_id": call.context.request_id,
        "caller": caller.subject,
        "client": (caller.client or "")[:NAME_LENGTH] or None,
        "session": caller.connection,
        "pack": entry.pack if entry is not None else None,
        call.kind: called(call),
        "outcome": "ok" if ended.code == "ok" else _outcome(ended.code),
        "code": ended.code,
        "ms": round(ended.milliseconds, 3),
        "argument_bytes": len(json.dumps(call.arguments, ensure_ascii=False, default=str).encode()),
        "answer_bytes": ended.answer_bytes,
        "arguments": shapes(call),
    }


def _outcome(code: str) -> str:
    return {"cancelled": "cancelled", "input_required": "asked"}.get(code, "error")


def called(call: Call) -> str | None:
    """What was called; of a resource its template, for a URI holds values.

    A name that nothing has is whatever its sender wrote; it stands here where it could be a name.
    """
    if call.entry is None:
        return call.name if call.kind != "resource" and NAME.fullmatch(call.name) else None
    contribution = call.entry.contribution
    return contribution.uri if isinstance(contribution, Resource) else call.entry.name


def shapes(call: Call) -> dict[str, str]:
    """The type and length of each argument that is declared; how many were not, as `?`."""
    declared = _declared(call)
    shapes = {name: _shape(call.arguments[name]) for name in call.arguments if name in declared}
    others = len(call.arguments) - len(shapes)
    return {**shapes, "?": f"{others} undeclared"} if others else shapes


def _declared(call: Call) -> frozenset[str]:
    if call.entry is None:
        return frozenset()
    contribution = call.entry.contribution
    if isinstance(contribution, Resource):
        return frozenset(call.arguments)  # the parameters of its template
    return frozenset(contribution.signature.arguments.schema.get("properties", ()))


def _shape(value: Any) -> str:
    kind = KINDS.get(type(value), "other")
    return f"{kind} {len(value)}" if isinstance(value, SIZED) else kind
