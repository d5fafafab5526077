"""How tasks are kept: the only room that speaks to a database."""

from .address import Address, PostgresServer, SqliteFile, read_url
from .database import AsyncSessionLocal
from .notices import Notices, notices
from .opening import create_tables, open_store
from .store import Health, TaskStore

__all__ = [
    "Address",
    "AsyncSessionLocal",
    "Health",
    "Notices",
    "PostgresServer",
    "SqliteFile",
    "TaskStore",
    "create_tables",
    "notices",
    "open_store",
    "read_url",
]
