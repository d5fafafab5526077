"""A pack under a name that another distribution offers as well."""

from mcp_host import hookimpl, tool


@tool(read_only=True)
def rival() -> str:
    """Say who answers."""
    return "the rival"


@hookimpl
def mcp_host_tools():
    return [rival]
