"""`todo-db-mcp`: the to-do list as an MCP server of its own, and the making of its table.

A client may be shown the saved catalogue before anything else of the pack is imported.
"""

from __future__ import annotations

import sys

from mcp_host import Standalone

from . import __version__

TYPE_CHECKING = False  # the name that type checkers know; importing typing takes 3 ms
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

VARIABLE = "DATABASE_URL"


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve, or make the table with `init-db`; ends the process with its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["init-db"]:
        from . import init_db

        raise SystemExit(init_db.main(server(), given[1:]))
    server().main(given)


def server() -> Standalone:
    """The pack as a server of its own."""
    return Standalone(
        pack="todo_db",
        module="mcp_host_todo_db.plugin",
        server_name="todo-db",
        version=__version__,
        program="todo-db-mcp",
        description="A to-do list for many users, on PostgreSQL or SQLite. "
        "`todo-db-mcp init-db` makes its table on PostgreSQL.",
        distribution="mcp-host-todo-db",
        tables=tables,
        variables=(VARIABLE,),
    )


def tables(environment: Mapping[str, str]) -> Mapping[str, Any]:
    """Settings from the variable that the pack's specification names."""
    if not environment.get(VARIABLE):
        return {}
    return {"packs": {"todo_db": {"settings": {"url": {"env": VARIABLE}}}}}


if __name__ == "__main__":
    main()
