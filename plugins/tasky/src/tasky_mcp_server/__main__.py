"""`tasky-mcp` and `python -m tasky_mcp_server`: the plan as an MCP server of its own."""

from mcp_host_tasky.server import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
