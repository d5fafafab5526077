"""`todo-db-mcp migrate`: bring a database to the newest version."""

import asyncio
from collections.abc import Sequence

from mcp_host import Standalone

from ..settings import TodoDbSettings
from ..storage import Address
from ..storage.migrating import migrate
from ..storage.records import VERSION
from .common import parser, told


def main(server: Standalone, arguments: Sequence[str]) -> int:
    """Migrate, say from where to where, and return the exit code."""
    (variable,) = server.variables
    given = parser(
        "migrate",
        f"Bring the database of {variable} or of a settings file to the newest version: from"
        " nothing, from a table tasks that is there, or from an earlier version.",
    ).parse_args(arguments)
    return asyncio.run(told(server, given.config, _migrate))


async def _migrate(address: Address, settings: TodoDbSettings) -> str:
    before = await migrate(address, connect_timeout=settings.connect_timeout)
    if not before.is_due:
        line = f"version {VERSION} is there already"
    else:
        line = f"migrated from {before.version or 'no version'} to {VERSION}"
    wanted = [f"\nan index is missing: {statement}" for statement in before.missing_indexes]
    return line + "".join(wanted)
