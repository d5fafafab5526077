"""`todo-db-mcp`: the to-do list as an MCP server of its own, and the commands beside it.

Until a client has its lists from the saved catalogue, nothing else of the pack is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from mcp_host import Standalone

from . import __version__

VARIABLE = "DATABASE_URL"
COMMANDS = ("init-db", "migrate", "undo")


def tables(environment: Mapping[str, str]) -> Mapping[str, object]:
    """Make settings as the pack's specification has them: its variable, and a named user."""
    url = {"url": {"env": VARIABLE}} if environment.get(VARIABLE) else {}
    return {"packs": {"todo_db": {"settings": {"user_id_required": True, **url}}}}


SERVER = Standalone(
    pack="todo_db",
    module="mcp_host_todo_db.plugin",
    server_name="todo-db",
    version=__version__,
    program="todo-db-mcp",
    description="A to-do list for many users, on PostgreSQL or SQLite. "
    "`todo-db-mcp init-db` makes its tables on PostgreSQL, `migrate` brings a database to the "
    "newest version, and `undo USER TASK` brings a deleted task back.",
    distribution="mcp-host-todo-db",
    place="mcp_host_todo_db.server:SERVER",
    tables=tables,
    variables=(VARIABLE,),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve, or run one of the commands beside it; end the process with its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given and given[0] in COMMANDS:
        # Serving does without the commands, and starts before the database's library is loaded.
        from .cli import run

        raise SystemExit(run(SERVER, given[0], given[1:]))
    SERVER.main(given)
