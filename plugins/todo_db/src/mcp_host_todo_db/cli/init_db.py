"""`todo-db-mcp init-db`: make the tables where there are none."""

import asyncio
from collections.abc import Sequence

from mcp_host import Standalone

from ..settings import TodoDbSettings
from ..storage import Address
from ..storage.migrating import migrate, standing
from .common import parser, told


def main(server: Standalone, arguments: Sequence[str]) -> int:
    """Make the tables and their indexes, say so, and return the exit code."""
    (variable,) = server.variables
    given = parser(
        "init-db", f"Make the table tasks in the database of {variable} or of a settings file."
    ).parse_args(arguments)
    return asyncio.run(told(server, given.config, _make))


async def _make(address: Address, settings: TodoDbSettings) -> str:
    found = await standing(address, connect_timeout=settings.connect_timeout)
    if not found.has_table:
        await migrate(address, connect_timeout=settings.connect_timeout)
        return "made the table tasks"
    more = "; `todo-db-mcp migrate` adds the history and undo" if found.is_due else ""
    return f"the table tasks is there already{more}"
