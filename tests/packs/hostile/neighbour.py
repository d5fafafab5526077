"""The good pack beside the hostile one; it must go on answering."""

from mcp_host import hookimpl, tool


@tool(read_only=True)
def echo(text: str) -> str:
    """Return the text, from a thread."""
    return text


@tool(read_only=True)
async def echo_on_loop(text: str) -> str:
    """Return the text, from the pack's loop."""
    return text


@hookimpl
def mcp_host_tools():
    return [echo, echo_on_loop]
