"""Who may read the skills of which pack."""

from collections.abc import Callable

from mcp_host import Caller


def readable(caller: Caller) -> Callable[[str], bool]:
    """Return what tells of a pack whether this caller may read its skills."""
    scopes = caller.scopes

    def may_read(pack: str) -> bool:
        return scopes is None or bool({"*", f"{pack}:read", f"{pack}:write"} & scopes)

    return may_read
