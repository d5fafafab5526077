"""PostgreSQL servers, through asyncpg."""

import asyncio
import socket
import ssl
import uuid
from functools import partial
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it ships no types
from sqlalchemy.exc import InterfaceError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from ..errors import BadUrl, Busy, InvalidTask, Refused, TableMissing, TodoError, Unreachable
from .address import PostgresServer
from .database import AUTOCOMMIT, Database

# SQLSTATEs, and classes of them.
BUSY_STATES = frozenset({"40001", "40P01", "53300", "55P03", "57014"})
REFUSED_STATES = frozenset({"25006", "28000", "28P01", "3D000", "42501"})
DOWN_STATES = frozenset({"57P01", "57P02", "57P03"})
CONNECTION_CLASS = "08"
NO_TABLE = "42P01"
TOO_LONG = "22001"
CONSTRAINT_CLASS = "23"


def database(server: PostgresServer, connect_timeout: float, pool_size: int) -> Database:
    return Database(
        place=server.place,
        engine=make_engine(server, connect_timeout, pool_size),
        try_out=lambda: None,
        explain=partial(explain, server.place),
        is_sqlite=False,
    )


def make_engine(server: PostgresServer, connect_timeout: float, pool_size: int) -> AsyncEngine:
    """Errors of this engine never show the arguments of a statement."""
    pooled = server.transaction_pooler
    timeout = server.connect_timeout or connect_timeout

    async def connect() -> Any:
        # asyncpg reads the URL itself: SQLAlchemy would hand on `sslmode` as an argument,
        # which asyncpg refuses.
        async with asyncio.timeout(timeout):
            return await asyncpg.connect(
                server.dsn,
                user=server.user,
                password=server.password,
                ssl=server.tls,
                statement_cache_size=0 if pooled else 100,
            )

    connect_args: dict[str, Any] = {"async_creator_fn": connect}
    if pooled:
        connect_args["prepared_statement_cache_size"] = 0
        connect_args["prepared_statement_name_func"] = lambda: f"todo_{uuid.uuid4()}"
    return create_async_engine(
        "postgresql+asyncpg://",
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=timeout,
        # Hosted databases fall asleep and drop connections that rest.
        pool_pre_ping=True,
        connect_args=connect_args,
        # A pooler stays on one connection inside a transaction only.
        isolation_level="READ COMMITTED" if pooled else AUTOCOMMIT,
        hide_parameters=True,
    )


def explain(place: str, error: Exception) -> TodoError | None:
    """What an error of asyncpg's means; None for what is a fault of ours."""
    cause = _innermost(error)
    if isinstance(cause, asyncpg.PostgresError):
        return _of_state(place, cause.sqlstate or "", str(cause))
    if isinstance(cause, asyncpg.ClientConfigurationError):
        return BadUrl(f"The database url for {place} cannot be used: {cause}")
    if isinstance(cause, OSError | asyncpg.InterfaceError | InterfaceError):
        return Unreachable(place, _why(cause))
    return None


def _innermost(error: Exception) -> BaseException:
    """The driver's own error: SQLAlchemy and its adapter wrap it, each by a cause."""
    known = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError)
    inner: BaseException | None = error
    while inner is not None and not isinstance(inner, known):
        inner = inner.__cause__
    return inner or error


def _of_state(place: str, state: str, message: str) -> TodoError | None:
    if state in BUSY_STATES:
        return Busy(place)
    if state in REFUSED_STATES:
        return Refused(place, message)
    if state in DOWN_STATES or state.startswith(CONNECTION_CLASS):
        return Unreachable(place, message)
    if state == NO_TABLE:
        return TableMissing(place)
    if state == TOO_LONG or state.startswith(CONSTRAINT_CLASS):
        return InvalidTask("task", f"The table does not take this task: {message}")
    return None


def _why(error: BaseException) -> str:
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
        case OSError() if "Connect call failed" in str(error):  # of a host with several addresses
            return "nothing listens there"
        case _:
            return str(error) or type(error).__name__
