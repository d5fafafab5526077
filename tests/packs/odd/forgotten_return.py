from mcp_host import hookimpl, tool


@tool(read_only=True)
def forecast(city: str) -> str:
    """Say how the weather will be."""
    return city


@hookimpl
def mcp_host_tools():
    tools = [forecast]
    tools.sort(key=lambda one: one.name)
