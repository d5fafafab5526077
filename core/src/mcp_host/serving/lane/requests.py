"""Which requests are usual, and what they ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeGuard

from pydantic_core import from_json

from ...declarations.context import Caller
from ...startup.protocol import META, MODERN_VERSION
from ...startup.usual import ENVELOPE, extensions, is_usual_envelope, offered

Id: TypeAlias = str | int
Method = Literal["tools/call", "resources/read", "prompts/get", "ping"]
NAMES: Mapping[str, str] = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The methods that name something, each with the parameter that does."""

DEEPEST = 100
"""Arrays and objects in one another that a usual message has at the most."""
_LARGEST_ID = 2**53
_NOTHING: Mapping[str, Any] = {}


@dataclass(slots=True)
class Usual:
    """A usual request; `meta` is its `_meta` without the progress token and others' own keys."""

    id: Id
    method: Method
    name: str
    arguments: Mapping[str, Any]
    token: Id | None
    meta: Mapping[str, Any]


def message(data: bytes) -> dict[str, Any] | None:
    """Parse a message; None where it is no JSON object that every other reader takes as well."""
    try:
        parsed = from_json(data)
    except ValueError:
        return None
    if type(parsed) is not dict:
        return None
    if data.count(b"{") + data.count(b"[") > DEEPEST and _is_deep(parsed):
        return None
    return parsed


def usual(given: dict[str, Any]) -> Usual | None:
    """Return what a message asks; None where it is no usual request."""
    request_id, method = given.get("id"), given.get("method")
    if type(method) is not str or given.get("jsonrpc") != "2.0" or not _is_usual_id(request_id):
        return None
    if method == "ping":
        return _ping(given, request_id)
    key = NAMES.get(method)
    params = given.get("params")
    if key is None or type(params) is not dict or len(given) != 4:
        return None
    name, arguments, meta = params.get(key), params.get("arguments"), params.get("_meta")
    if type(name) is not str or len(params) != 1 + (arguments is not None) + (meta is not None):
        return None
    if arguments is None:
        arguments = _NOTHING
    elif type(arguments) is not dict or method == "resources/read":
        return None
    if method == "prompts/get" and not all(type(value) is str for value in arguments.values()):
        return None
    if meta is None:
        return Usual(request_id, method, name, arguments, None, _NOTHING)  # type: ignore[arg-type]  # one of `NAMES`
    if type(meta) is not dict:
        return None
    token = meta.get("progressToken")
    if type(token) is str or type(token) is int:
        del meta["progressToken"]  # what is left of another one is unusual
    if not meta.keys() <= ENVELOPE:
        for key in [key for key in meta if _is_others(key)]:
            del meta[key]
    return Usual(request_id, method, name, arguments, token, meta)  # type: ignore[arg-type]  # as above


def _ping(given: Mapping[str, Any], request_id: Id) -> Usual | None:
    has_params = "params" in given
    if len(given) != 3 + has_params or (has_params and given["params"] != {}):
        return None
    return Usual(request_id, "ping", "", _NOTHING, None, _NOTHING)


def cancelled(given: Mapping[str, Any]) -> Id | None:
    """Return which request a message cancels; None where it is no such notification."""
    if given.get("method") != "notifications/cancelled" or "id" in given:
        return None
    params = given.get("params")
    request_id = params.get("requestId") if isinstance(params, dict) else None
    return request_id if type(request_id) in (str, int) else None


def coerced(request_id: Id) -> Id:
    """An id as a cancellation names it: by its number, also where it is written as a string."""
    try:
        return int(request_id) if isinstance(request_id, str) else request_id
    except ValueError:
        return request_id


class Envelopes:
    """Who sends 2026-07-28 requests; clients tell the same of themselves in each."""

    def __init__(self, connection: str | None) -> None:
        self._connection = connection
        self._meta: Mapping[str, Any] | None = None
        self._caller = Caller()

    def caller(self, meta: Mapping[str, Any]) -> Caller | None:
        """Return whom an envelope tells of; None where it is not usual."""
        if meta == self._meta:
            return self._caller
        if not is_usual_envelope(meta):
            return None
        info = meta.get(META + "clientInfo")
        self._meta = meta
        self._caller = Caller(
            client=info["name"] if info is not None else None,
            connection=self._connection,
            protocol=MODERN_VERSION,
            offers=offered(meta[META + "clientCapabilities"]),
            extensions=extensions(meta[META + "clientCapabilities"]),
        )
        return self._caller


def _is_others(key: str) -> bool:
    """Whether a key of `_meta` is a client's own, which means nothing to a server."""
    prefix, slash, _ = key.partition("/")
    return bool(slash) and "mcp" not in prefix and "modelcontextprotocol" not in prefix


def _is_usual_id(value: object) -> TypeGuard[Id]:
    kind = type(value)
    return kind is str or (kind is int and -_LARGEST_ID < value < _LARGEST_ID)  # type: ignore[operator]  # an int


def _is_deep(data: dict[str, Any]) -> bool:
    layer: list[Any] = [data]
    for _ in range(DEEPEST):
        layer = [part for whole in layer for part in _parts(whole)]
        if not layer:
            return False
    return True


def _parts(data: object) -> list[Any]:
    if type(data) is dict:
        return [value for value in data.values() if type(value) in (dict, list)]
    return [value for value in data if type(value) in (dict, list)] if type(data) is list else []
