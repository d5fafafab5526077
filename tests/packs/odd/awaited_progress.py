"""A plain call of the context, awaited."""

from mcp_host import Context, hookimpl, tool


@tool(read_only=True, open_world=False)
async def forecast(context: Context) -> str:
    """Return tomorrow's weather."""
    await context.progress(1, 2)
    return "sun"


@hookimpl
def mcp_host_tools():
    return [forecast]
