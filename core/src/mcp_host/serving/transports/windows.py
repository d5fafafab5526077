"""Standard input and output on Windows, over the SDK's own transport: pipes cannot be polled."""

from __future__ import annotations

from . import Transport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...host import Host
    from ..adapter import Adapter


class WindowsStdio(Transport):
    """Serves one client until its input ends."""

    def load(self) -> None:
        import mcp.server.stdio  # noqa: F401 - loaded here, used later

    async def serve(self, host: Host, adapter: Adapter, at_once: Callable[[], None]) -> None:
        from mcp.server.stdio import stdio_server

        async with stdio_server() as (reading, writing):
            options = adapter.server.create_initialization_options()
            await adapter.server.run(reading, writing, options)
