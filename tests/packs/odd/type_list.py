"""A schema of its own with a list of types."""

from mcp_host import hookimpl, tool

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": ["string", "null"], "description": "City"}},
}


@tool(input_schema=SCHEMA, read_only=True, open_world=False)
def forecast(arguments: dict) -> str:
    """Return tomorrow's weather."""
    return str(arguments)


@hookimpl
def mcp_host_tools():
    return [forecast]
