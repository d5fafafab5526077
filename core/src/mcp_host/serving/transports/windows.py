"""Standard input and output on Windows, over the SDK's own transport: pipes cannot be polled."""

from __future__ import annotations

from .transport import Transport

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio

    from ...host import Host
    from ..sdk import SdkSide


class WindowsStdio(Transport):
    """Serves one client until its input ends."""

    described = "serving on stdio"

    def load(self) -> None:
        import mcp.server.stdio  # noqa: F401 - loaded here, used later

        from .. import adapter  # noqa: F401 - as above

    async def serve(self, host: Host, sdk: SdkSide, stopping: asyncio.Event) -> None:
        import anyio
        from mcp.server.stdio import stdio_server

        async def stop() -> None:
            await stopping.wait()
            tasks.cancel_scope.cancel()

        adapter = await sdk.adapter()
        async with stdio_server() as (reading, writing), anyio.create_task_group() as tasks:
            tasks.start_soon(stop)
            options = adapter.server.create_initialization_options()
            await adapter.server.run(reading, writing, options)
            tasks.cancel_scope.cancel()
