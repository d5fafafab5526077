"""What can go wrong, as a tree of exceptions, and the envelope in which a client reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

REQUEST_ID_KEY = "mcp-host/request-id"
ERROR_KEY = "mcp-host/error"

INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
MISSING_CAPABILITY = -32021


class McpHostError(Exception):
    """A failure that a client is told about: its message reaches the caller.

    `suggestions` are sentences or values that would work; `details` is plain data, where
    `details["reason"]` is the pack's own stable word for the failure.
    """

    code: ClassVar[str] = "internal_error"
    retryable: bool = False

    def __init__(
        self,
        message: str,
        *,
        suggestions: Sequence[str] = (),
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.suggestions = list(suggestions)
        self.details = dict(details or {})

    def envelope(self, request_id: str) -> dict[str, Any]:
        """The failure as plain data; see docs/reference/errors.md."""
        envelope: dict[str, Any] = {
            "success": False,
            "error": str(self),
            "code": self.code,
            "retryable": self.retryable,
            "request_id": request_id,
        }
        if self.suggestions:
            envelope["suggestions"] = self.suggestions
        if self.details:
            envelope["details"] = self.details
        return _writable(envelope)


def _writable(envelope: dict[str, Any]) -> dict[str, Any]:
    """The envelope as it can be written, whatever a pack has put into it.

    An error text may hold half a character, for example of a file name that is no UTF-8.
    """
    try:
        text = json.dumps(envelope, ensure_ascii=False, default=str, skipkeys=True)
    except Exception:
        text = json.dumps({**envelope, "details": {}, "suggestions": []}, ensure_ascii=False)
    plain: dict[str, Any] = json.loads(text.encode("utf-8", "replace"))
    return plain


class InvalidInput(McpHostError):
    """The arguments do not fit."""

    code = "validation_error"


class NotFound(McpHostError):
    """What was named is not there."""

    code = "not_found"


class UnknownName(NotFound):
    """No such tool, resource or prompt: a protocol error, by MCP 2026-07-28."""


class Conflict(McpHostError):
    """The state of things forbids it: a stale revision, a name that is taken."""

    code = "conflict"


class PermissionDenied(McpHostError):
    """The caller may not do this."""

    code = "permission_denied"


class AuthenticationRequired(McpHostError):
    """Nobody is logged in, or a login has run out."""

    code = "authentication_required"


class TimedOut(McpHostError):
    """The call took longer than its deadline."""

    code = "timeout"


class Cancelled(McpHostError):
    """A person refused, or the call was taken back."""

    code = "cancelled"


class Busy(McpHostError):
    """Too many calls at once; a later one may pass."""

    code = "busy"
    retryable = True


class Unavailable(McpHostError):
    """Something this needs is out of reach now; a later call may pass."""

    code = "unavailable"
    retryable = True


class Unsupported(McpHostError):
    """This client, or this set-up, cannot do it."""

    code = "unsupported"


class InternalError(McpHostError):
    """A fault of the pack or the host; its text stays in the log."""


BY_CODE: Mapping[str, type[McpHostError]] = {
    kind.code: kind
    for kind in (
        InvalidInput,
        NotFound,
        Conflict,
        PermissionDenied,
        AuthenticationRequired,
        TimedOut,
        Cancelled,
        Busy,
        Unavailable,
        Unsupported,
        InternalError,
    )
}
"""Every error code and its exception: a closed set whose names never change."""


class ProtocolError(Exception):
    """A JSON-RPC error in place of a result: the client's program sees it, the model does not."""

    def __init__(self, number: int, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.number = number
        self.data = dict(data) if data is not None else None


class MissingCapability(ProtocolError):
    """The call needs something that this client did not offer (-32021, MCP 2026-07-28)."""

    def __init__(self, capability: str) -> None:
        super().__init__(
            MISSING_CAPABILITY,
            f"This needs the client's '{capability}' capability",
            {"requiredCapabilities": {capability: {}}},
        )
        self.capability = capability


class SettingsError(Exception):
    """The settings cannot be used; the message names the file, the key and what is right."""


def as_result(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """An envelope as a tool's result.

    Never as `structuredContent`: clients check that against the tool's output schema and would
    throw the error away.
    """
    return {
        "isError": True,
        "content": [{"type": "text", "text": json.dumps(envelope, ensure_ascii=False)}],
        "_meta": {ERROR_KEY: dict(envelope)},
    }


def as_protocol_error(
    error: McpHostError, envelope: Mapping[str, Any], uri: str | None = None
) -> ProtocolError:
    """An envelope as the `data` of a JSON-RPC error; `uri` is the resource that was asked for."""
    data = dict(envelope) if uri is None else {**envelope, "uri": uri[:2048]}
    callers_fault = error.code in ("validation_error", "not_found")
    number = INVALID_PARAMS if callers_fault else INTERNAL_ERROR
    return ProtocolError(number, str(envelope["error"]), data)
