"""Does what the host's own tools say: finds and describes tools, and has calls go on to them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from pydantic_core import to_json

from ..declarations.content import compact
from ..declarations.context import Caller
from ..declarations.tool import Tool
from ..errors import REQUEST_ID_KEY, InvalidInput
from ..packs.entry import Entry
from ..packs.lists import Lists
from ..packs.search_tools import (
    CALL_READ_ONLY,
    DESCRIBE,
    SEARCH,
    SearchTools,
    is_reached,
    not_found,
)
from ..runtime.messages import Answered
from ..settings.tables import RESERVED_PACK_NAME
from .call import Call, Next, Result

Find: TypeAlias = Callable[[str, Caller], Awaitable[Entry | None]]


class Search:
    """`lists` has the whole list of tools, and `find` gives the tool of a name.

    A call of one tool by another goes on as if its client had called that one: the same rules,
    limits, questions and records hold.
    """

    def __init__(self, tools: SearchTools | None, lists: Lists, find: Find) -> None:
        self._tools = tools
        self.is_used = tools is not None
        self._lists = lists
        self._find = find

    def concerns(self, call: Call) -> bool:
        """Whether it is one of the host's own tools that is called."""
        entry = call.entry
        return entry is not None and entry.pack == RESERVED_PACK_NAME and call.kind == "tool"

    async def __call__(self, call: Call, following: Next) -> Result:
        entry, contribution = call.known, call.known.contribution
        assert isinstance(contribution, Tool) and self._tools is not None
        given = contribution.function(**contribution.signature.arguments.check(call.arguments))
        if entry.target in (SEARCH, DESCRIBE):
            ask: Callable[..., Any] = self._tools.describe
            if entry.target == SEARCH:
                ask = self._tools.search
            caller = call.context.caller
            found = await asyncio.to_thread(ask, self._lists.everything("tools"), caller, **given)
            return _answered(contribution, found, call.context.request_id)
        await self._redirect(call, only_reading=entry.target == CALL_READ_ONLY, **given)
        return await following(call)

    async def _redirect(
        self, call: Call, *, only_reading: bool, name: str, arguments: dict[str, Any]
    ) -> None:
        """Make the call one of the tool that it names."""
        caller = call.context.caller
        entry = await self._find(name, caller)
        if entry is None or not is_reached(entry, caller):
            raise not_found(name)
        if only_reading and not (
            isinstance(entry.contribution, Tool) and entry.contribution.read_only
        ):
            raise InvalidInput(f"{name} does not only read", suggestions=["Call it by host_call"])
        call.name, call.entry, call.arguments = name, entry, arguments


def _answered(tool: Tool, value: Any, request_id: str) -> Answered:
    answer = {**tool.answer(compact(value)), "_meta": {REQUEST_ID_KEY: request_id}}
    return Answered(to_json(answer), is_wire=True)
