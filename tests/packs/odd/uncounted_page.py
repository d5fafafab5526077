"""A page of a list that nobody has counted."""

from mcp_host import Page, hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast() -> Page[str]:
    """Return the weather of many days."""
    return Page(["sun"], None)


@hookimpl
def mcp_host_tools():
    return [forecast]
