"""Four tools in place of many: they find, describe and call all that a client is not shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from ..declarations.context import Caller
from ..declarations.tool import Tool, tool
from ..errors import NotFound
from ..settings.tables import RESERVED_PACK_NAME, HostTable
from .access import is_listed
from .entry import Entry

if TYPE_CHECKING:
    from .search import Index

SEARCH, DESCRIBE, CALL_READ_ONLY, CALL = "search", "describe", "call_read_only", "call"
INSTRUCTIONS = (
    "More tools are here than are listed: {tool:search} finds them by what you want to do, "
    "{tool:call_read_only} and {tool:call} call them."
)
BYTES_EACH = 4
"""Bytes of a list that are taken for a token, where the list's length decides what is shown."""
SHORT = 200
MOST = 20


class SearchTools:
    """The host's own tools, and which others stand in the list beside them.

    Whatever they find, describe or call, the same rules hold as on the straight way. `keywords`
    tells those of a pack, in any thread.
    """

    def __init__(self, host: HostTable, keywords: Callable[[str], Sequence[str]]) -> None:
        self._keywords = keywords
        self._always = tuple(host.always)
        self._budget = None if host.expose == "search" else host.token_budget
        self.instructions = INSTRUCTIONS
        self._searched: tuple[Sequence[Entry], Index] | None = None
        self.tools: tuple[Tool, ...] = (
            tool(name=SEARCH, read_only=True, output=None)(_search),
            tool(name=DESCRIBE, read_only=True, output=None)(_describe),
            tool(name=CALL_READ_ONLY, read_only=True, output=None)(_call_read_only),
            tool(name=CALL, output=None)(_call),
        )

    def exposed(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return what the list of tools shows: all, or these four and those always shown."""
        others = [entry for entry in entries if entry.pack != RESERVED_PACK_NAME]
        if self._budget is not None and _cost(others) <= self._budget * BYTES_EACH:
            return others
        return [
            entry
            for entry in entries
            if entry.pack == RESERVED_PACK_NAME
            or any(fnmatchcase(entry.name, glob) for glob in self._always)
        ]

    def search(
        self, entries: Sequence[Entry], caller: Caller, query: str, limit: int
    ) -> list[dict[str, Any]]:
        """Return the tools that fit best of those that the caller may call; in any thread.

        `entries` is the whole list; it is indexed once, as long as it is the same object.
        """
        searched = self._searched
        if searched is None or searched[0] is not entries:
            from .search import Index  # a host that lists all its tools starts without

            tools = [(entry.pack, entry.listed) for entry in entries]
            searched = (entries, Index(tools, self._keywords))
            self._searched = searched
        found = (entries[place] for place in searched[1].rank(query))
        fit = [entry for entry in found if is_reached(entry, caller)]
        return [_in_short(entry) for entry in fit[:limit]]

    def describe(
        self, entries: Sequence[Entry], caller: Caller, names: Sequence[str]
    ) -> list[Mapping[str, Any]]:
        """Return tools as a list would show them; `NotFound` names those that are not there."""
        known = {entry.name: entry for entry in entries if is_reached(entry, caller)}
        missing = [name for name in names if name not in known]
        if missing:
            raise not_found(", ".join(missing))
        return [known[name].listed for name in names]


def is_reached(entry: Entry, caller: Caller) -> bool:
    """Whether the host's tools find and call it for this caller."""
    return entry.pack != RESERVED_PACK_NAME and is_listed(entry, caller)


def not_found(name: str) -> NotFound:
    """What is said of a tool that is not there, or that this caller may not call."""
    return NotFound(f"There is no tool {name[:200]}", suggestions=["host_search finds tools"])


def _cost(entries: Sequence[Entry]) -> int:
    return sum(len(json.dumps(entry.listed, default=str)) for entry in entries)


def _in_short(entry: Entry) -> dict[str, Any]:
    schema = entry.listed["inputSchema"]
    required = schema.get("required", ())
    description = str(entry.listed.get("description", "")).strip().partition("\n")[0]
    return {
        "name": entry.name,
        "description": description[:SHORT],
        "arguments": [
            name if name in required else f"{name}?" for name in schema.get("properties", {})
        ],
        "reads_only": bool(getattr(entry.contribution, "read_only", False)),
    }


# Their signatures are what clients see; what they do stands in `middleware/search.py`, where a call
# goes on to the tool that it names.


def _search(
    query: Annotated[str, Field(description="What you want to do, in a few words")],
    limit: Annotated[int, Field(ge=1, le=MOST)] = 5,
) -> dict[str, Any]:
    """Find tools by what you want to do."""
    return {"query": query, "limit": limit}


def _describe(
    names: Annotated[list[str], Field(min_length=1, max_length=MOST)],
) -> dict[str, Any]:
    """Show tools whole, with the schemas of their arguments."""
    return {"names": names}


def _call_read_only(name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    """Call a tool that only reads."""
    return {"name": name, "arguments": arguments or {}}


def _call(name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    """Call any tool."""
    return {"name": name, "arguments": arguments or {}}
