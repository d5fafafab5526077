"""FastMCP with one tool or ten mounts of ten: `fastmcp_tools.py one|ten stdio|http [PORT]`."""

import sys

from fastmcp import FastMCP


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
    served = with_tools("bench", 1) if sys.argv[1] == "one" else with_mounts(10, 10)
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
