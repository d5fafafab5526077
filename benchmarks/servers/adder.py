"""A pack with one tool, the addition of two numbers that every candidate serves."""

from mcp_host import hookimpl, tool


@tool(read_only=True)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@hookimpl
def mcp_host_tools() -> list[object]:
    return [add]
