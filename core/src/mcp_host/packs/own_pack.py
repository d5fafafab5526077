"""What the host contributes itself: the resource that says how every pack is."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ..declarations.context import Caller, Context
from ..declarations.resource import Resource
from ..declarations.tool import Tool
from ..settings.tables import RESERVED_PACK_NAME, PackTable
from ..startup.version import VERSION
from .declared import Declared, Offer

PACKS_URI, USAGE_URI = "host://packs", "host://usage"


def own_pack(
    report: Callable[[], list[dict[str, Any]]],
    usage: Callable[[Caller], dict[str, Any]],
    tools: tuple[Tool, ...] = (),
    instructions: str = "",
) -> Declared:
    """Return the host's own pack.

    `report` tells of every pack, and `usage` of what a caller's model was given, when the resource
    of each is read.
    """

    def packs() -> str:
        return json.dumps(report(), indent=2, ensure_ascii=False)

    def used(context: Context) -> str:
        return json.dumps(usage(context.caller), indent=2, ensure_ascii=False)

    resource = Resource(
        function=packs,
        name="packs",
        title="Packs of this host",
        description="Every pack of this host: its state, and why one is missing.",
        uri=PACKS_URI,
        mime="application/json",
    )
    costs = Resource(
        function=used,
        name="usage",
        title="What fills the context",
        description="Your ten costliest answers, and what each pack's lists cost, in tokens.",
        uri=USAGE_URI,
        mime="application/json",
    )
    offer = Offer(RESERVED_PACK_NAME, "mcp_host", "mcp-host", VERSION)
    return Declared(
        RESERVED_PACK_NAME,
        offer,
        PackTable(),
        tools=tools,
        resources=(resource, costs),
        instructions=instructions,
    )
