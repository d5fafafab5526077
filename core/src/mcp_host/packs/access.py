"""Who may use what: the settings of a pack, and the scopes of a caller."""

from __future__ import annotations

from ..declarations.context import Caller
from ..errors import PermissionDenied
from .catalog import Entry


def check(entry: Entry, caller: Caller) -> None:
    """`PermissionDenied` where this caller may not use this."""
    if entry.withheld:
        raise PermissionDenied(
            f"{entry.name} is withheld: {entry.refusal}",
            suggestions=[f"mcp-host approve {entry.pack}"],
            details={"reason": "withheld"},
        )
    if entry.refusal:
        raise PermissionDenied(
            f"{entry.name}: {entry.refusal}", details={"reason": "refused_by_settings"}
        )
    if not in_scope(entry, caller):
        raise PermissionDenied(
            f"{entry.name} needs the scope '{entry.scope}'",
            details={"reason": "missing_scope", "scope": entry.scope},
        )


def allows(entry: Entry, caller: Caller) -> bool:
    """Whether this stands in the caller's lists."""
    if entry.whose is not None and entry.whose != caller.identity:
        return False
    return not entry.refusal and in_scope(entry, caller)


def in_scope(entry: Entry, caller: Caller) -> bool:
    """Whether the caller's token covers it; without tokens nobody is asked for scopes.

    The scope to write includes the scope to read.
    """
    if caller.scopes is None or entry.is_hosts_tool:
        return True
    return bool(caller.scopes & {"*", entry.scope, f"{entry.pack}:write"})


def may_read(pack: str, caller: Caller) -> bool:
    """Whether the caller may know of this pack."""
    return caller.scopes is None or bool(caller.scopes & {"*", f"{pack}:read", f"{pack}:write"})
