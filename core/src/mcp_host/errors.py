"""What can go wrong, and the envelope in which a client reads it.

```text
McpHostError
├── CallError              a call fails; ends in the error envelope
│   ├── InvalidInput           validation_error
│   ├── NotFound               not_found
│   │   └── UnknownName
│   ├── Conflict               conflict
│   ├── PermissionDenied       permission_denied
│   ├── AuthenticationRequired authentication_required
│   ├── TimedOut               timeout
│   ├── Cancelled              cancelled
│   ├── Busy                   busy
│   ├── Unavailable            unavailable
│   ├── Unsupported            unsupported
│   └── InternalError          internal_error
├── ProtocolError          a request fails; ends in a JSON-RPC error
│   └── MissingCapability
├── SettingsError          the settings cannot be used
├── DeclarationError       a pack declares what cannot work   (declarations)
├── LoadError              a pack cannot be served            (packs)
├── RequiredPackError      the host must not serve            (packs)
├── ServiceError           a pack's service cannot be opened  (runtime)
└── PackFailed             a call failed on its pack's side   (middleware)
```
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

REQUEST_ID_KEY = "mcp-host/request-id"
ERROR_KEY = "mcp-host/error"

INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
MISSING_CAPABILITY = -32021


class McpHostError(Exception):
    """Everything that the host raises on purpose."""


class CallError(McpHostError):
    """A failure that a client is told about: its message reaches the caller.

    `suggestions` are sentences or values that would work; `details` is plain data, where
    `details["reason"]` is the pack's own stable word for the failure. `sent` is False where nothing
    was sent or begun before it failed, so that the call did nothing.
    """

    code: ClassVar[str] = "internal_error"
    retryable: bool = False
    sent: bool | None = None

    def __init__(
        self,
        message: str,
        suggestions: Sequence[str] = (),
        details: Mapping[str, Any] | None = None,
        *,
        sent: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.suggestions = list(suggestions)
        self.details = dict(details or {})
        if sent is not None:
            self.sent = sent

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

    An error text may hold a lone surrogate, for example of a file name that is no UTF-8.
    """
    try:
        text = json.dumps(envelope, ensure_ascii=False, default=str, skipkeys=True)
    except Exception:
        text = json.dumps({**envelope, "details": {}, "suggestions": []}, ensure_ascii=False)
    plain: dict[str, Any] = json.loads(text.encode("utf-8", "replace"))
    return plain


class InvalidInput(CallError):
    """The arguments do not fit."""

    code = "validation_error"


class NotFound(CallError):
    """What was named is not there."""

    code = "not_found"


class UnknownName(NotFound):
    """No such tool, resource or prompt: a protocol error, by MCP 2026-07-28."""


class Conflict(CallError):
    """The state of things forbids it: a stale revision, a name that is taken."""

    code = "conflict"


class PermissionDenied(CallError):
    """The caller may not do this."""

    code = "permission_denied"


class AuthenticationRequired(CallError):
    """Nobody is logged in, or a login has run out."""

    code = "authentication_required"


class TimedOut(CallError):
    """The call took longer than its deadline."""

    code = "timeout"


class Cancelled(CallError):
    """A person refused, or the call was cancelled."""

    code = "cancelled"


class Busy(CallError):
    """Too many calls at once; a later one may pass."""

    code = "busy"
    retryable = True


class Unavailable(CallError):
    """Something this needs is out of reach now; a later call may pass.

    Raised after a call began that must not be repeated, it says that its outcome is not known,
    unless `sent` is False.
    """

    code = "unavailable"
    retryable = True


class Unsupported(CallError):
    """This client, or this set-up, cannot do it."""

    code = "unsupported"


class InternalError(CallError):
    """A fault of the pack or the host; its text stays in the log."""


BY_CODE: Mapping[str, type[CallError]] = {
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


class ProtocolError(McpHostError):
    """A JSON-RPC error in place of a result: the client's program sees it, the model does not."""

    def __init__(self, number: int, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.number = number
        self.data = dict(data) if data is not None else None


EXTENSIONS = "extensions."


class MissingCapability(ProtocolError):
    """The call needs something that this client did not offer (-32021, MCP 2026-07-28).

    A capability is such as `elicitation`, or `extensions.` and the identifier of an extension.
    """

    def __init__(self, capability: str) -> None:
        super().__init__(
            MISSING_CAPABILITY,
            f"This needs the client's '{capability}' capability",
            {"requiredCapabilities": _nested(_parts(capability))},
        )
        self.capability = capability


def _parts(capability: str) -> Sequence[str]:
    """The names of a capability, one in the other; that of an extension has dots of its own."""
    if capability.startswith(EXTENSIONS):
        return ("extensions", capability.removeprefix(EXTENSIONS))
    return capability.split(".")


def _nested(names: Sequence[str]) -> dict[str, Any]:
    return {names[0]: _nested(names[1:])} if names else {}


class SettingsError(McpHostError):
    """The settings cannot be used; the message names the file, the key and what is right."""


def as_result(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """Return an envelope as a tool's result.

    Never as `structuredContent`: clients check that against the tool's output schema and would
    throw the error away.
    """
    return {
        "isError": True,
        "content": [{"type": "text", "text": json.dumps(envelope, ensure_ascii=False)}],
        "_meta": {ERROR_KEY: dict(envelope), REQUEST_ID_KEY: envelope["request_id"]},
    }


def as_protocol_error(
    error: CallError, envelope: Mapping[str, Any], uri: str | None = None
) -> ProtocolError:
    """An envelope as the `data` of a JSON-RPC error; `uri` is the resource that was asked for."""
    data = dict(envelope) if uri is None else {**envelope, "uri": uri[:2048]}
    callers_fault = error.code in ("validation_error", "not_found")
    number = INVALID_PARAMS if callers_fault else INTERNAL_ERROR
    return ProtocolError(number, str(envelope["error"]), data)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a wrong one was meant to be; None where none is like it."""
    from difflib import get_close_matches  # 2 ms and 0.14 MiB; few names are wrong

    return next(iter(get_close_matches(name, tuple(known), 1)), None)
