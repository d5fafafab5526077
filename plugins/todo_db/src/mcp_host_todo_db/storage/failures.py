"""What drivers raise, in words of our own: who, what, and never a password."""

import socket
import sqlite3
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg  # type: ignore[import-untyped]  # it ships no types
from sqlalchemy.exc import DBAPIError, InterfaceError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from ..errors import (
    BadUrl,
    Busy,
    InvalidTask,
    Refused,
    TableMissing,
    TodoError,
    Unreachable,
)

TOO_LONG = "22001"
NO_SUCH_USER = "23503"
"""SQLSTATE of a foreign key that points nowhere."""

BUSY_STATES = frozenset({"40001", "40P01", "53300", "55P03", "57014"})
REFUSED_STATES = frozenset({"25006", "28000", "28P01", "3D000", "42501"})
DOWN_STATES = frozenset({"57P01", "57P02", "57P03"})
NO_TABLE = "42P01"
FORBIDDEN = "23"
"""The class of SQLSTATEs about a table's own constraints."""


@contextmanager
def explained(place: str) -> Iterator[None]:
    """Turn what a driver raises inside into a `TodoError`; what is nobody's fault passes."""
    try:
        yield
    except TodoError:
        raise
    except Exception as error:
        told = explain(place, error)
        if told is None:
            raise
        raise told from error


def explain(place: str, error: Exception) -> TodoError | None:
    cause = driver_error(error)
    if isinstance(error, PoolTimeout):
        return Busy(place)
    if isinstance(cause, sqlite3.Error):
        return _of_sqlite(place, cause)
    if isinstance(cause, asyncpg.PostgresError):
        return _of_postgres(place, cause)
    if isinstance(cause, asyncpg.ClientConfigurationError):
        return BadUrl(f"The database url for {place} cannot be used: {cause}")
    if isinstance(cause, OSError | asyncpg.InterfaceError | InterfaceError):
        return Unreachable(place, why_unreachable(cause))
    return None


def driver_error(error: BaseException) -> BaseException:
    """The innermost error of a driver: SQLAlchemy and its adapters wrap it, some of them twice."""
    while isinstance(error, DBAPIError) and error.orig is not None:
        error = error.orig
    known = (sqlite3.Error, asyncpg.PostgresError, asyncpg.InterfaceError, OSError)
    inner: BaseException | None = error
    while inner is not None and not isinstance(inner, known):
        inner = inner.__cause__
    return inner or error


def sqlstate(error: Exception) -> str | None:
    """PostgreSQL's code of an error, if it is one of PostgreSQL's."""
    state = getattr(driver_error(error), "sqlstate", None)
    return state if isinstance(state, str) else None


def why_unreachable(error: BaseException) -> str:
    match error:
        case ConnectionRefusedError():
            return "nothing listens there"
        case socket.gaierror():
            return "no such host is known"
        case TimeoutError():
            return "it did not answer in time"
        case ssl.SSLError():
            return f"no secure connection ({error.reason or error})"
        case FileNotFoundError():
            return "there is no such socket"
        case OSError() if "refused" in str(error) or "Connect call failed" in str(error):
            return "nothing listens there"
        case _:
            return str(error) or type(error).__name__


def _of_postgres(place: str, error: asyncpg.PostgresError) -> TodoError | None:
    state = error.sqlstate or ""
    if state in BUSY_STATES:
        return Busy(place)
    if state in REFUSED_STATES:
        return Refused(place, str(error))
    if state in DOWN_STATES or state.startswith("08"):
        return Unreachable(place, str(error))
    if state == NO_TABLE:
        return TableMissing(place)
    if state == TOO_LONG or state.startswith(FORBIDDEN):
        return InvalidTask("task", f"The table does not take this task: {error}")
    return None


def _of_sqlite(place: str, error: sqlite3.Error) -> TodoError | None:
    # SQLite's extended codes hold the primary one in their low byte.
    match getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return Busy(place)
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CORRUPT:
            return Unreachable(place, str(error))
        case sqlite3.SQLITE_NOTADB:
            return Unreachable(place, "the file is no SQLite database")
        case sqlite3.SQLITE_CONSTRAINT:
            return InvalidTask("task", f"The table does not take this task: {error}")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_FULL | sqlite3.SQLITE_PERM:
            return Refused(place, str(error))
        case _:
            return TableMissing(place) if "no such table: tasks" in str(error) else None
