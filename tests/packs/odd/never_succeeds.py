from mcp_host import NotFound, hookimpl, tool


@tool(read_only=True)
def forecast(city: str) -> str:
    """Say how the weather will be."""
    raise NotFound(f"there is no city {city}")


@hookimpl
def mcp_host_tools():
    return [forecast]
