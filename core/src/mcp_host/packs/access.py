"""Who may use what: the settings of a pack, and the scopes of a caller."""

from __future__ import annotations

from collections.abc import Mapping

from ..declarations.context import Caller
from ..declarations.resource import Resource
from ..errors import PermissionDenied
from .entry import Entry


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


def check_whose(entry: Entry, values: Mapping[str, str], caller: Caller) -> None:
    """`PermissionDenied` where a resource, by the values of its template, is somebody else's."""
    contribution = entry.contribution
    whose = contribution.whose if isinstance(contribution, Resource) else None
    if whose is not None and caller.subject not in (None, values[whose]):
        raise PermissionDenied(f"{entry.name} is another caller's", details={"reason": "not_yours"})


def allows(entry: Entry, caller: Caller) -> bool:
    """Whether this is there for the caller, and may be used."""
    if entry.whose is not None and entry.whose != caller.identity:
        return False
    return not entry.refusal and in_scope(entry, caller)


def is_listed(entry: Entry, caller: Caller) -> bool:
    """Whether this stands in the caller's lists: also what its issuer would give it a scope for."""
    if entry.whose is not None and entry.whose != caller.identity:
        return False
    return not entry.refusal and (in_scope(entry, caller) or _is_offered(entry, caller))


def in_scope(entry: Entry, caller: Caller) -> bool:
    """Whether the caller's token covers it; without tokens nobody is asked for scopes.

    The scope to write includes the scope to read.
    """
    if caller.scopes is None or entry.is_hosts_tool:
        return True
    return _covers(caller.scopes, entry)


def is_challenged(entry: Entry, caller: Caller) -> bool:
    """Whether the caller is to be told, by HTTP, to get the scope that this needs."""
    return caller.offered is not None and not entry.refusal and not in_scope(entry, caller)


def _is_offered(entry: Entry, caller: Caller) -> bool:
    return caller.offered is not None and _covers(caller.offered, entry)


def _covers(scopes: frozenset[str], entry: Entry) -> bool:
    covered = "*" in scopes or entry.scope in scopes or f"{entry.pack}:write" in scopes
    return covered and (not entry.reader or _reads(scopes, entry.reader))


def _reads(scopes: frozenset[str], pack: str) -> bool:
    return bool(scopes & {"*", f"{pack}:read", f"{pack}:write"})


def may_read(pack: str, caller: Caller) -> bool:
    """Whether the caller may know of this pack."""
    return caller.scopes is None or _reads(caller.scopes, pack)
