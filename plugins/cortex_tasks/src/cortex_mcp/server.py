"""The Cortex server under its specified name: `cortex-mcp`, or this file run by Python."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # the working folder, or this one: what lies there is nothing to import

from mcp_host_cortex_tasks.server import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
