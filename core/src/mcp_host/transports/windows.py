"""Serving on Windows over the SDK's own stdio transport: its pipes cannot be polled as ours are."""

from __future__ import annotations

from collections.abc import Callable

from mcp.server.stdio import stdio_server

from ..host import Host
from ..server import Adapter


async def serve(host: Host, make_adapter: Callable[[], Adapter]) -> None:
    """Serve one client until its input ends."""
    async with host, stdio_server() as (reading, writing):
        adapter = make_adapter()
        detach = adapter.attach()
        options = adapter.server.create_initialization_options()
        await adapter.server.run(reading, writing, options)
        detach()
