"""`todo-db-mcp migrate`: bring a database to the newest version."""

import asyncio
from collections.abc import Sequence
from functools import partial

from mcp_host import Standalone

from ..settings import TodoDbSettings
from ..storage import Address
from ..storage.migrating import migrate
from ..storage.records import VERSION
from .common import parser, told


def main(server: Standalone, arguments: Sequence[str]) -> int:
    """Migrate, say from where to where, and return the exit code."""
    (variable,) = server.variables
    options = parser(
        "migrate",
        f"Bring the database of {variable} or of a settings file to the newest version: from"
        " nothing, from a table tasks that is there, or from an earlier version.",
    )
    options.add_argument(
        "--row-security",
        action="store_true",
        help="force row-level security, also on a table tasks that was there before",
    )
    given = options.parse_args(arguments)
    return asyncio.run(told(server, given.config, partial(_migrate, wall=given.row_security)))


async def _migrate(address: Address, settings: TodoDbSettings, *, wall: bool) -> str:
    before = await migrate(
        address,
        connect_timeout=settings.connect_timeout,
        row_security="force" if wall else "keep" if settings.row_security else "leave",
    )
    if not before.is_due:
        line = f"version {VERSION} is there already"
    else:
        line = f"migrated from {before.version or 'no version'} to {VERSION}"
    if wall:
        line += "; row-level security is forced"
    elif settings.row_security and before.has_table and not before.has_wall:
        line += (
            "\nthe table tasks was there and has no row-level security:"
            " `todo-db-mcp migrate --row-security` forces it"
        )
    wanted = [f"\nan index is missing: {statement}" for statement in before.missing_indexes]
    return line + "".join(wanted)
