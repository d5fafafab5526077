"""FastMCP with one tool or ten mounts of ten: `fastmcp_tools.py one|rows|ten stdio|http [PORT]`."""

import sys
from typing import Any

from fastmcp import FastMCP

ROWS = [
    {"id": number, "title": f"Task number {number}", "done": number % 3 == 0, "tags": ["a", "b"]}
    for number in range(500)
]


def with_rows(name: str) -> FastMCP:
    server = FastMCP(name)

    async def rows() -> list[dict[str, Any]]:
        """Give five hundred rows."""
        return ROWS

    server.tool(rows)
    return server


def with_tools(name: str, tools: int) -> FastMCP:
    server = FastMCP(name)
    for number in range(tools):

        async def add(a: int, b: int) -> int:
            """Add two numbers."""
            return a + b

        add.__name__ = f"add_{number}"
        server.tool(add)
    return server


def with_mounts(mounts: int, tools: int) -> FastMCP:
    server = FastMCP("bench")
    for number in range(mounts):
        server.mount(with_tools(f"p{number}", tools), namespace=f"p{number}")
    return server


if __name__ == "__main__":
    made = {
        "one": lambda: with_tools("bench", 1),
        "rows": lambda: with_rows("bench"),
        "ten": lambda: with_mounts(10, 10),
    }
    served = made[sys.argv[1]]()
    if sys.argv[2] == "stdio":
        served.run("stdio", show_banner=False)
    else:
        served.run(
            "http",
            show_banner=False,
            host="127.0.0.1",
            port=int(sys.argv[3]),
            log_level="WARNING",
        )
