"""A pack that works on the files of whoever runs the server."""

from mcp_host import hookimpl


@hookimpl
def mcp_host_acts_as() -> str:
    return "server-user"
