"""The border's messages as heads and bodies of frames, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from pydantic_core import from_json, to_json

from ..declarations.context import Caller
from . import wire
from .mailbox import (
    CloseStream,
    LogMessage,
    NotificationMessage,
    ProgressMessage,
    Repeatable,
    Said,
)
from .messages import (
    Answered,
    Asked,
    CallMessage,
    CannotAsk,
    Failed,
    Found,
    ListChange,
    Offered,
    ProposalsMessage,
    Proposed,
    Reason,
    Reply,
    Withdrawn,
)

_PROPOSALS = tuple(f.name for f in fields(ProposalsMessage))


def call_data(message: CallMessage, caller: list[Any]) -> dict[str, Any]:
    """Return a call as JSON data, with its caller's; whether it wants progress stands beside it."""
    return {
        "kind": message.kind,
        "key": message.key,
        "target": message.target,
        "arguments": dict(message.arguments),
        "request_id": message.request_id,
        "caller": caller,
        "seconds": message.seconds,
        "max_answer_bytes": message.max_answer_bytes,
        "answers": dict(message.answers),
        "state": message.state,
        "is_live": message.is_live,
    }


def caller_data(caller: Caller) -> list[Any]:
    """Return a caller as JSON data."""
    return [
        caller.subject,
        None if caller.scopes is None else sorted(caller.scopes),
        caller.client,
        caller.connection,
        caller.protocol,
        sorted(caller.offers),
        dict(caller.extensions),
    ]


def call_of(data: Mapping[str, Any]) -> CallMessage:
    """Return the call that data says."""
    subject, scopes, client, connection, protocol, offers, extensions = data["caller"]
    caller = Caller(
        subject,
        None if scopes is None else frozenset(scopes),
        client,
        connection,
        protocol,
        frozenset(offers),
        extensions,
    )
    return CallMessage(**{**data, "caller": caller})


def proposals_data(message: ProposalsMessage) -> dict[str, Any]:
    """Return a request for proposals as JSON data."""
    return {name: getattr(message, name) for name in _PROPOSALS} | {"given": dict(message.given)}


def proposals_of(data: Mapping[str, Any]) -> ProposalsMessage:
    """Return the request for proposals that data says."""
    return ProposalsMessage(**data)


def reply_data(reply: Reply | Proposed) -> tuple[dict[str, Any], bytes]:
    """Return a reply as JSON data and a body."""
    match reply:
        case Answered():
            return {"answered": reply.code, "wire": reply.is_wire}, reply.body
        case Asked():
            return {"asked": dict(reply.questions), "state": reply.state}, b""
        case CannotAsk():
            return {"cannot_ask": reply.capability}, b""
        case Proposed():
            return {"proposed": list(reply.values), "total": reply.total}, b""
        case Failed():
            return {"failed": _failed_data(reply)}, b""


def reply_of(data: Mapping[str, Any], body: bytes) -> Reply | Proposed:
    """Return the reply that data and a body say; `KeyError` or `TypeError` where they say none."""
    if "answered" in data:
        is_wire = data.get("wire") is True and _is_sound(body)
        return Answered(body, str(data["answered"]), is_wire)
    if "asked" in data:
        return Asked(data["asked"], str(data["state"]))
    if "cannot_ask" in data:
        return CannotAsk(str(data["cannot_ask"]))
    if "proposed" in data:
        return Proposed(tuple(map(str, data["proposed"])), int(data["total"]))
    failed = dict(data["failed"])
    failed["suggestions"] = tuple(map(str, failed.get("suggestions", ())))
    return Failed(**failed)


def _is_sound(body: bytes) -> bool:
    """Whether a body is one line of JSON that ends with a `_meta`, whatever its side has become.

    It is sent as it is, and must not end the frame that it stands in. `ValueError` where it is no
    JSON.
    """
    result = from_json(body)
    is_one_line = b"\n" not in body and body.endswith(b"}}")
    return is_one_line and type(result) is dict and bool(result) and _ends_with_meta(result)


def _ends_with_meta(result: dict[str, Any]) -> bool:
    last = next(reversed(result))
    return last == "_meta" and type(result[last]) is dict and bool(result[last])


def checked(answer: Answered, written: dict[str, Any] | None = None) -> Answered:
    """Return an answer of a side that somebody else wrote; `ValueError` where it is no JSON.

    It is written anew, and found out here whether the protocol takes it as it is. A side in threads
    of the host gives what it has `written` there beside it, which then stays as it is.
    """
    result = from_json(answer.body) if written is None else written
    if not isinstance(result, dict):
        raise ValueError("the body of an answer must be an object of JSON")
    meta = result.pop("_meta", None)
    is_wire = bool(meta) and wire.is_wire(result, meta)
    if meta is not None:
        result["_meta"] = meta  # at the end of the body
    body = answer.body if written is not None else to_json(result, inf_nan_mode="null")
    return Answered(body, answer.code, is_wire)


def _failed_data(reply: Failed) -> dict[str, Any]:
    return {
        "code": reply.code,
        "message": reply.message,
        "suggestions": list(reply.suggestions),
        "details": dict(reply.details),
        "retryable": reply.retryable,
        "traceback": reply.traceback,
        "sent": reply.sent,
        "began": reply.began,
    }


def said_data(said: Said) -> list[Any]:
    """Return what a call says to its client as JSON data."""
    match said:
        case ProgressMessage():
            return ["progress", said.done, said.total, said.message]
        case LogMessage():
            return ["log", said.level, said.data, said.logger]
        case NotificationMessage():
            return ["notification", said.method, dict(said.params)]
        case CloseStream():
            return ["close_stream"]
        case Repeatable():
            return ["repeatable", said.is_so]


def said_of(data: list[Any]) -> Said | None:
    """Return what a call says to its client; None for what this side does not know."""
    match data:
        case ["progress", done, total, message]:
            return ProgressMessage(done, total, message)
        case ["log", level, words, logger]:
            return LogMessage(level, words, logger)
        case ["notification", str(method), dict(params)]:
            return NotificationMessage(method, params)
        case ["close_stream"]:
            return CloseStream()
        case ["repeatable", is_so]:
            return Repeatable(is_so is True)
    return None


def list_change_data(change: ListChange) -> list[Any]:
    """Return a change of a pack's lists as JSON data."""
    if isinstance(change, Offered):
        return ["offered", change.key, change.whose, dict(change.data)]
    return ["withdrawn", change.name, change.whose]


def list_change_of(data: list[Any]) -> ListChange:
    """Return the change of a pack's lists that data says."""
    kind, *parts = data
    return Offered(*parts) if kind == "offered" else Withdrawn(*parts)


def reason_data(reason: Reason | None) -> dict[str, Any] | None:
    """Return a reason as JSON data."""
    return None if reason is None else asdict(reason)


def reason_of(data: Mapping[str, Any] | None) -> Reason | None:
    """Return the reason that data says."""
    return None if data is None else Reason(**data)


def found_of(data: Mapping[str, Any]) -> Found:
    """Return a finding of a check."""
    return Found(str(data["problem"]), str(data["remedy"]), data.get("note") is True)
