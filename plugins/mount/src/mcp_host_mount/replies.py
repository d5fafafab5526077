"""What becomes of a server's replies: the border's replies to the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json, to_json

from .answers import fault, for_handshake
from .links import Message
from .model import STATELESS, Mount, is_sound, needed, question
from .peer import CONNECTION_CLOSED, INVALID_PARAMS, METHOD_NOT_FOUND
from .written import write

Reply = tuple[dict[str, Any], bytes]

INVALID_REQUEST, NO_WAY_BACK = -32600, "no back-channel"
"""How the SDK refuses a question that its server asks while a call of 2026-07-28 runs."""
RESOURCE_NOT_FOUND, REQUEST_TIMEOUT = -32002, -32001
MISSING_CAPABILITY = -32021
CODES = {
    INVALID_PARAMS: "validation_error",
    RESOURCE_NOT_FOUND: "not_found",
    METHOD_NOT_FOUND: "unsupported",
    REQUEST_TIMEOUT: "timeout",
    CONNECTION_CLOSED: "unavailable",
}
STATUSES = {
    401: "authentication_required",
    403: "permission_denied",
    429: "busy",
    502: "unavailable",
    503: "unavailable",
    504: "timeout",
}
"""Codes by the status of an answer that is none of JSON-RPC."""
LONGEST_DATA = 64 * 1024
"""Bytes of what a server says of its error beside the message; of more, their number is told."""
STAMP = "io.modelcontextprotocol/serverInfo"
REQUEST_ID = "mcp-host/request-id"


def of_message(
    message: Message, call: Mapping[str, Any], mount: Mount, is_stateless: bool
) -> Reply:
    """Return the reply to a call that a server's message makes."""
    if "error" in message:
        if asks_as_before(message):
            words = (
                "The server asks as servers of the handshake era do; from its next start it is "
                "spoken with in that era, and its questions are passed on"
            )
            return failed("unsupported", words, {"reason": "asks_as_before"})
        return of_error(message["error"], call)
    result = message.get("result")
    if not isinstance(result, dict):
        return failed("internal_error", "The server's answer is none of MCP's")
    if is_stateless and result.get("resultType") == "input_required":
        return _asked(result, call, mount)
    return _answered(result, call)


def _asked(result: Mapping[str, Any], call: Mapping[str, Any], mount: Mount) -> Reply:
    """Return the questions of a result; or that this server or client has no part in one."""
    asked = result.get("inputRequests")
    questions: dict[str, Any] = {}
    for name, one in asked.items() if isinstance(asked, dict) else ():
        method = str(one.get("method")) if isinstance(one, dict) else ""
        params = one.get("params") if isinstance(one, dict) else None
        params = params if isinstance(params, dict) else {}
        needs = needed(method, params)
        if needs is None or not mount.allows(needs):
            words = f"The server has asked for {method[:100]}, which is not allowed here"
            return failed("unsupported", words, {"reason": "not_allowed"})
        if not is_sound(method, params):
            words = f"The server has asked {method} without what it must have"
            return failed("internal_error", words, {"reason": "answer_invalid"})
        if needs not in call["caller"][5]:
            return {"cannot_ask": needs}, b""
        questions[name] = question(mount.pack, method, params)
    return {"asked": questions, "state": str(result.get("requestState") or "")}, b""


def asks_as_before(message: Message) -> bool:
    """Whether a server has failed because it asks in the way of the handshake era."""
    error = message.get("error")
    if not isinstance(error, dict) or error.get("code") != INVALID_REQUEST:
        return False
    return NO_WAY_BACK in str(error.get("message"))


def of_error(error: Any, call: Mapping[str, Any]) -> Reply:
    """Return the failure that a server's error means."""
    error = error if isinstance(error, dict) else {}
    size, limit = error.get("bytes"), error.get("limit")
    if isinstance(size, int) and isinstance(limit, int):
        return _too_large(size, limit)
    code = error.get("code")
    if code == MISSING_CAPABILITY and isinstance(error.get("data"), dict):
        missing = error["data"].get("requiredCapabilities")
        if isinstance(missing, dict) and missing:
            name, modes = next(iter(missing.items()))
            has_mode = isinstance(modes, dict) and name == "elicitation" and [*modes] == ["url"]
            return {"cannot_ask": "elicitation.url" if has_mode else str(name)}, b""
    word = CODES.get(code, "internal_error") if isinstance(code, int) else "internal_error"
    if call.get("kind") == "resource" and code == INVALID_PARAMS:
        word = "not_found"
    details: dict[str, Any] = {"reason": "server_error", "server_code": code}
    if "status" in error:
        word = STATUSES.get(error["status"], word)
        details = {"reason": "server_error", "status": error["status"]}
    elif "lost" in error:
        details = {"reason": "server_lost"}
    elif error.get("data") is not None:
        size = len(write(error["data"]))
        if size > LONGEST_DATA:
            details["server_data_bytes"] = size
        else:
            details["server_data"] = error["data"]
    words = str(error.get("message") or "The server has refused the request")
    return failed(word, words, details)


def failed(
    code: str, message: str, details: Mapping[str, Any] | None = None, *, began: bool = True
) -> Reply:
    """Return a failure of a call."""
    return {
        "failed": {
            "code": code,
            "message": message[:4096],
            "details": dict(details or {}),
            "began": began,
        }
    }, b""


def _answered(result: dict[str, Any], call: Mapping[str, Any]) -> Reply:
    meta = result.pop("_meta", None)
    result.pop("resultType", None)
    kind = call["kind"]
    wrong = fault(kind, result)
    if wrong:
        words = f"The server's answer is none of MCP's: {wrong}"
        return failed("internal_error", words, {"reason": "answer_invalid"})
    if call["caller"][4] < STATELESS:
        result.pop("ttlMs", None)
        result.pop("cacheScope", None)
        for_handshake(result)
    elif kind == "resource":
        result.setdefault("ttlMs", 0)
        result.setdefault("cacheScope", "private")
    result["_meta"] = _stamped(meta, call["request_id"])
    head: dict[str, Any] = {
        "answered": "error" if result.get("isError") is True else "ok",
        "result": result,
    }
    try:
        body = to_json(result, inf_nan_mode="null")
    except ValueError:
        del head["result"]  # what `write` writes is not the same
        body = write(result)
        if not _is_read(body):
            words = "The server's answer is nested too deeply"
            return failed("internal_error", words, {"reason": "answer_invalid"})
    limit = call["max_answer_bytes"]
    return _too_large(len(body), limit) if len(body) > limit else (head, body)


def _stamped(meta: object, request_id: str) -> dict[str, Any]:
    """Return the `_meta` of an answer: the server's, without its stamp, and the call's id last."""
    if not isinstance(meta, dict) or (len(meta) == 1 and STAMP in meta):
        return {REQUEST_ID: request_id}
    own = {key: value for key, value in meta.items() if key not in (STAMP, REQUEST_ID)}
    return {**own, REQUEST_ID: request_id}


def _is_read(body: bytes) -> bool:
    """Whether everybody on the way to the client reads an answer."""
    try:
        from_json(body)
    except ValueError:
        return False
    return True


def _too_large(size: int, limit: int) -> Reply:
    return failed(
        "unsupported",
        f"The answer is {size} bytes long; {limit} are allowed",
        {"reason": "answer_too_large", "bytes": size, "limit": limit},
    )
