"""The front door of mcp-host: everything that a pack may import.

Names are loaded when they are first used, so that `import mcp_host` costs next to nothing; the MCP
SDK is never imported from here.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the name that type checkers know; importing typing takes 3 ms
if TYPE_CHECKING:
    from typing import Any

    from .asking import Answer, Form, Root, Roots, Sample
    from .conditions import Finding
    from .content import Audio, Embedded, Image, Link, Message, Page, Result, Text
    from .context import Caller, Context
    from .contributions import Icon, Prompt, Resource, Tool, prompt, resource, tool
    from .errors import (
        AuthenticationRequired,
        Busy,
        Cancelled,
        Conflict,
        InternalError,
        InvalidInput,
        McpHostError,
        MissingCapability,
        NotFound,
        PermissionDenied,
        SettingsError,
        TimedOut,
        Unavailable,
        Unsupported,
    )
    from .hookspecs import hookimpl
    from .running import Finished, PackHandle
    from .signature import Ask, Complete, Header
    from .stage import Stage
    from .standalone import Standalone

__version__ = "0.1.0"

_ROOMS = {
    "asking": ("Answer", "Form", "Root", "Roots", "Sample"),
    "conditions": ("Finding",),
    "content": ("Audio", "Embedded", "Image", "Link", "Message", "Page", "Result", "Text"),
    "context": ("Caller", "Context"),
    "contributions": ("Icon", "Prompt", "Resource", "Tool", "prompt", "resource", "tool"),
    "errors": (
        "AuthenticationRequired",
        "Busy",
        "Cancelled",
        "Conflict",
        "InternalError",
        "InvalidInput",
        "McpHostError",
        "MissingCapability",
        "NotFound",
        "PermissionDenied",
        "SettingsError",
        "TimedOut",
        "Unavailable",
        "Unsupported",
    ),
    "hookspecs": ("hookimpl",),
    "running": ("Finished", "PackHandle"),
    "signature": ("Ask", "Complete", "Header"),
    "stage": ("Stage",),
    "standalone": ("Standalone",),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "Answer",
    "Ask",
    "Audio",
    "AuthenticationRequired",
    "Busy",
    "Caller",
    "Cancelled",
    "Complete",
    "Conflict",
    "Context",
    "Embedded",
    "Finding",
    "Finished",
    "Form",
    "Header",
    "Icon",
    "Image",
    "InternalError",
    "InvalidInput",
    "Link",
    "McpHostError",
    "Message",
    "MissingCapability",
    "NotFound",
    "PackHandle",
    "Page",
    "PermissionDenied",
    "Prompt",
    "Resource",
    "Result",
    "Root",
    "Roots",
    "Sample",
    "SettingsError",
    "Stage",
    "Standalone",
    "Text",
    "TimedOut",
    "Tool",
    "Unavailable",
    "Unsupported",
    "hookimpl",
    "prompt",
    "resource",
    "tool",
]


def __getattr__(name: str) -> Any:
    room = _ROOM_OF.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{room}", __name__), name)
    globals()[name] = value
    return value
