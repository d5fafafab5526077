"""The bare SDK with one tool: `sdk.py stdio` or `sdk.py http PORT`."""

import logging
import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("bench", log_level="WARNING")


@server.tool()
async def add_0(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
