"""How tasks are kept: the only room that speaks to a database."""

from .address import Address, PostgresServer, SqliteFile, read_url
from .bus import PostgresBus, open_bus
from .database import AsyncSessionLocal
from .opening import create_tables, open_store
from .store import Health, TaskStore

__all__ = [
    "Address",
    "AsyncSessionLocal",
    "Health",
    "PostgresBus",
    "PostgresServer",
    "SqliteFile",
    "TaskStore",
    "create_tables",
    "open_bus",
    "open_store",
    "read_url",
]
