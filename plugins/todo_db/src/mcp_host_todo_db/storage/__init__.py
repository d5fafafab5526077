"""How tasks are kept: the only room that speaks to a database."""

from .address import Address, PostgresServer, SqliteFile, read_url
from .database import AsyncSessionLocal
from .opening import create_tables, open_store
from .store import Health, TaskStore

__all__ = [
    "Address",
    "AsyncSessionLocal",
    "Health",
    "PostgresServer",
    "SqliteFile",
    "TaskStore",
    "create_tables",
    "open_store",
    "read_url",
]
