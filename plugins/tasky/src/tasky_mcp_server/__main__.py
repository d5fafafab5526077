"""`tasky-mcp` and `python -m tasky_mcp_server`: the plan as an MCP server of its own."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # the working folder: what lies there is nothing to import

from mcp_host_tasky.server import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
