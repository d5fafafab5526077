"""`python -m mcp_host_todo_db`: the same as the command `todo-db-mcp`."""

from .server import main

if __name__ == "__main__":
    main()
