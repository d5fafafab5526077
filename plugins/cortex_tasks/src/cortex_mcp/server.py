"""The Cortex server under its specified name: `cortex-mcp`, or this file run by Python."""

from mcp_host_cortex_tasks.server import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
