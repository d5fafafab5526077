"""The names and numbers of MCP that are needed before the SDK is there; told here alone."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal, TypeAlias, TypeGuard

    What: TypeAlias = Literal["tools", "resources", "resourceTemplates", "prompts"]

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"
"""What the protocol's own keys in `_meta` begin with."""
LISTS: Mapping[str, What] = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""The methods that list, each with the key of its items."""
LIST_TTL_MS = 60_000
"""How long a client of 2026-07-28 may keep a list."""


def is_id(value: Any) -> TypeGuard[str | int]:
    """Whether this can be the id of a request."""
    return isinstance(value, str | int) and not isinstance(value, bool)
