"""A connection of SQLite that is used in another thread."""

import sqlite3
from contextlib import asynccontextmanager

from mcp_host import hookimpl, tool


@tool(read_only=True, open_world=False)
def forecast(database: sqlite3.Connection, /) -> list[str]:
    """Return the names of all cities."""
    return [row[0] for row in database.execute("select 'Rome'")]


@hookimpl
@asynccontextmanager
async def mcp_host_open():
    connection = sqlite3.connect(":memory:")
    yield connection
    connection.close()


@hookimpl
def mcp_host_tools():
    return [forecast]
