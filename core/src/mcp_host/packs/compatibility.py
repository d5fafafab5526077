"""Which versions of the host a pack was made for, as its distribution says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

from ..startup.version import VERSION
from .declared import LoadError, Offer

Release: TypeAlias = tuple[int, ...]

_REQUIREMENT = re.compile(
    r"mcp[-_.]host\s*(?:\[[^\]]*\])?\s*\(?([~=!<>][^;()]*|)\)?\s*(;.*)?", re.IGNORECASE
)
_CLAUSE = re.compile(r"(~=|===|==|!=|<=|>=|<|>)\s*v?(\d+(?:\.\d+)*)(\.\*)?([^\s]*)")


def host_requirement(requirements: Iterable[str]) -> str:
    """Return the versions of the host among what a distribution requires; empty where it says none.

    What is required for an extra alone, or under another condition, does not count.
    """
    for requirement in requirements:
        found = _REQUIREMENT.fullmatch(requirement.strip())
        if found is not None and not found[2]:
            return found[1].strip()
    return ""


def check_host(offer: Offer, version: str = VERSION) -> None:
    """Raise `LoadError` where a pack was made for other versions of the host than this one."""
    if fits(offer.requires, version):
        return
    raise LoadError(
        "host_unfit",
        f"{offer.distribution} {offer.version} is made for mcp-host {offer.requires}, and this is "
        f"mcp-host {version}",
        f'install versions that fit: pip install --upgrade mcp-host "{offer.distribution}"',
    )


def fits(required: str, version: str) -> bool:
    """Return whether a version is among those required; what is not understood lets it pass."""
    return all(_fits(clause.strip(), version) for clause in required.split(",") if clause.strip())


def _fits(clause: str, version: str) -> bool:
    found = _CLAUSE.fullmatch(clause)
    if found is None or found[4]:
        return True
    operator, wanted, is_prefix = found[1], _release(found[2]), found[3] is not None
    own, is_early = _release(version), not re.fullmatch(r"\d+(\.\d+)*", version)
    length = max(len(own), len(wanted))
    mine, theirs = _padded(own, length), _padded(wanted, length)
    match operator:
        case ">=":
            return mine > theirs or (mine == theirs and not is_early)
        case ">":
            return mine > theirs
        case "<=":
            return mine <= theirs
        case "<":
            return mine < theirs
        case "~=":
            prefix = wanted[:-1]
            return mine >= theirs and mine[: len(prefix)] == prefix
        case _:
            is_same = mine[: len(wanted)] == wanted if is_prefix else mine == theirs
            return is_same is (operator != "!=")


def _release(version: str) -> Release:
    """The numbers that a version begins with: an early one, as 0.2.0rc1, has those of 0.2.0."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else (0,)


def _padded(release: Release, length: int) -> Release:
    return release + (0,) * (length - len(release))
