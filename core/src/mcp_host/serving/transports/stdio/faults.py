"""What is wrong with a line that is no message of the protocol, told so that it can be mended."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from mcp_types import INVALID_REQUEST, PARSE_ERROR

from ....startup.frames import TooLong
from ....startup.protocol import is_id

DEEPEST = 190
"""Arrays and objects in one another that every reader on the way takes."""
TOO_DEEP = "it is nested too deeply"


class Fault(NamedTuple):
    """An error to answer with; `request_id` is None where the line tells none that could be."""

    request_id: str | int | None
    code: int
    message: str


def fault(line: bytes) -> Fault:
    """What is wrong with a line that was not taken."""
    try:
        data = json.loads(line)
    except RecursionError:
        return Fault(None, INVALID_REQUEST, f"Invalid request: {TOO_DEEP}")
    except (json.JSONDecodeError, UnicodeDecodeError):
        return Fault(None, PARSE_ERROR, "Parse error: the line is not valid JSON")
    except ValueError:  # more digits than Python reads
        return Fault(None, INVALID_REQUEST, "Invalid request: a number is too long")
    request_id = data.get("id") if isinstance(data, dict) else None
    known = request_id if is_id(request_id) else None
    return Fault(known, INVALID_REQUEST, f"Invalid request: {_fault_of(data)}")


def too_long(line: TooLong, limit: int) -> Fault:
    """What is wrong with a line over the limit."""
    said = f"The message is too long: {line.length} bytes, of {limit} that"
    if line.length > limit:
        said += " max_message_bytes of [host] allows. Send less at once, or raise that setting"
    else:
        said += " will be taken soon: it came before the settings were read. Send it again"
    return Fault(line.request_id, INVALID_REQUEST, said)


def has_id(line: bytes) -> bool:
    """Whether a line that is JSON has an id."""
    return b'"id"' in line and "id" in json.loads(line)


def _fault_of(data: Any) -> str:
    if isinstance(data, list):
        return "this is a batch, which is not supported"
    if not isinstance(data, dict):
        return "a message must be a JSON object"
    if data.get("jsonrpc") != "2.0":
        return 'jsonrpc must be "2.0"'
    if "id" in data and not is_id(data["id"]):
        return "the id must be a string or an integer"
    if not isinstance(data.get("method"), str):
        return "method must be a string"
    if not isinstance(data.get("params", {}), dict):
        return "params must be an object"
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "a string must not hold a lone surrogate"
    except RecursionError:
        return TOO_DEEP
    if _depth(data) > DEEPEST:
        return TOO_DEEP
    return "it must be a request, a notification or a response of JSON-RPC 2.0"


def _depth(data: Any) -> int:
    """How many arrays and objects stand in one another."""
    depth, layer = 0, [data]
    while layer := [part for whole in layer for part in _parts(whole)]:
        depth += 1
    return depth


def _parts(data: Any) -> list[Any]:
    if isinstance(data, dict):
        return list(data.values())
    return data if isinstance(data, list) else []
