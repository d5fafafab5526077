"""`python -m mcp_host_todo_db`: the same as the command `todo-db-mcp`."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # the working folder: what lies there is nothing to import

from .server import main

if __name__ == "__main__":
    main()
