"""The bare SDK with one tool: `sdk.py one|rows stdio` or `sdk.py one|rows http PORT`."""

import logging
import sys
from typing import Any

from mcp.server.mcpserver import MCPServer

server = MCPServer("bench", log_level="WARNING")


async def add_0(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ROWS = [
    {"id": number, "title": f"Task number {number}", "done": number % 3 == 0, "tags": ["a", "b"]}
    for number in range(500)
]


async def rows() -> list[dict[str, Any]]:
    """Give five hundred rows."""
    return ROWS


def one() -> MCPServer:
    """Return the server with one tool, for who mounts the object."""
    server.tool()(add_0)
    return server


if __name__ == "__main__":
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    server.tool()(add_0 if sys.argv[1] == "one" else rows)
    if sys.argv[2] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[3]))
