"""FastMCP's proxy of a server on stdio: `fastmcp_proxy.py COMMAND…`."""

import sys

from fastmcp.server.server import create_proxy

program, *rest = sys.argv[1:]
create_proxy({"mcpServers": {"far": {"command": program, "args": rest}}}).run(show_banner=False)
