"""PostgreSQL servers, through asyncpg."""

import asyncio
import logging
import select
import socket
import ssl
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it ships no types
from sqlalchemy import NullPool
from sqlalchemy.exc import InterfaceError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from ..errors import (
    BadUrlError,
    ConnectionLostError,
    DatabaseBusyError,
    DatabaseRefusedError,
    DatabaseUnreachableError,
    InvalidTaskError,
    OwnTableMissingError,
    RequestKeyTakenError,
    TableMissingError,
    TodoError,
    TransactionPoolerError,
)
from .address import PostgresServer
from .leases import Leases
from .pool_metrics import POOLS, PoolUse
from .records import KEYS, own_table_in
from .row_security import seen_by
from .statement import Row, Statement

log = logging.getLogger(__name__)

# SQLSTATEs, and classes of them.
BUSY_STATES = frozenset({"40001", "40P01", "53200", "53300", "55P03", "57014"})
BROKEN_STATES = frozenset({"53100", "58000", "58030", "58P01", "XX001", "XX002"})
"""A full disk, one that fails, and files that are damaged or gone."""
REFUSED_STATES = frozenset({"25006", "28000", "28P01", "3D000", "42501"})
END_STATES = frozenset({"40003", "57P01", "57P02", "57P03"})
STATEMENT_NAME_STATES = frozenset({"26000", "42P05"})
CONNECTION_CLASS = "08"
NO_TABLE = "42P01"
TOO_LONG = "22001"
DUPLICATE = "23505"
CONSTRAINT_CLASS = "23"

NOT_BEGUN = "cannot switch to state"
"""What asyncpg says of a statement for which the connection is not ready."""

REST = 60.0
"""Seconds after which a resting connection is closed. Hosted databases fall asleep and gateways
forget connections after some minutes; one that is younger needs no ping before each call."""


class Connection(asyncpg.Connection):  # type: ignore[misc]  # it ships no types
    """A connection whose prepared statements have names that no other process uses.

    asyncpg counts them from one in every process. Behind a pooler that hands one server's
    connection to several clients, a name would then run another client's statement.
    """

    def _get_unique_id(self, prefix: str) -> str:
        return f"todo_{prefix}_{uuid.uuid4().hex}"

    def is_silent(self) -> bool:
        """Whether nothing has come that was not read yet, as the connection's end would."""
        if not hasattr(select, "poll"):
            return False
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not poll.poll(0)


class PostgresDatabase:
    """A PostgreSQL database, with a pool of connections while it serves."""

    makes_its_table = False

    def __init__(
        self,
        server: PostgresServer,
        *,
        connect_timeout: float,
        statement_timeout: float,
        pool_size: int,
        row_security: bool = False,
    ) -> None:
        self.place = server.place
        self.row_security = row_security
        self._server = server
        self._connect_timeout = server.connect_timeout or connect_timeout
        own = {"statement_timeout": f"{statement_timeout * 1000:.0f}"}
        self._session = {} if server.transaction_pooler or server.limits_statements else own
        self._pool_size = pool_size
        self._pool: Any = None
        self._leases = Leases(
            self._acquired,
            self._released,
            _is_open,
            _is_silent,
            size=pool_size,
            patience=2 * self._connect_timeout,
        )
        self._connecting = 0
        self.engine = self._make_engine()

    async def try_out(self) -> None:
        """A server is tried out by connecting."""

    @asynccontextmanager
    async def failures_explained(self) -> AsyncIterator[None]:
        try:
            yield
        except TodoError:
            raise
        except TimeoutError as error:
            raise DatabaseUnreachableError(self.place, "it did not answer in time") from error
        except Exception as error:
            explained = explain_connecting(self.place, error)
            if explained is None:
                raise
            raise explained from error

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        self._pool = asyncpg.create_pool(
            min_size=0,
            max_size=self._pool_size,
            max_inactive_connection_lifetime=REST,
            connect=self._connect,
            connection_class=Connection,
            reset=_nothing_to_reset,
        )
        await self._pool
        POOLS.add(self)
        try:
            yield
        finally:
            POOLS.remove(self)
            try:
                async with asyncio.timeout(self._connect_timeout):
                    await self._leases.close()
                    await self._pool.close()
            except TimeoutError:
                self._pool.terminate()

    @property
    def use(self) -> PoolUse:
        """What the pool is doing; in any thread."""
        idle = self._pool.get_idle_size()
        used = self._pool.get_size() - idle - self._leases.resting
        waiting = self._leases.waiting + self._connecting
        return PoolUse(used, idle + self._leases.resting, waiting)

    async def run(
        self, statement: Statement, values: Mapping[str, object], user_id: str | None = None
    ) -> Sequence[Row]:
        arguments = statement.arguments(values)
        try:
            return await self._run_once(statement, arguments, user_id)
        except ConnectionLostError as error:
            # The others of the pool may have gone with it.
            await self._pool.expire_connections()
            self._leases.expire()
            if error.sent and not statement.repeatable:
                raise
        return await self._run_once(statement, arguments, user_id)

    async def _run_once(
        self, statement: Statement, arguments: Sequence[object], user_id: str | None
    ) -> Sequence[Row]:
        try:
            connection = await self._leases.take()
        except TimeoutError:
            raise DatabaseBusyError(self.place) from None
        try:
            if self.row_security:
                await connection.execute(f"BEGIN; {seen_by(user_id)}")
            rows: Sequence[Row] = await connection.fetch(statement.sql, *arguments)
            if self.row_security:
                await connection.execute("COMMIT")
        except BaseException as error:
            await self._leases.give_up(connection)
            explained = explain_running(self.place, error)
            if explained is None:
                raise
            raise explained from error
        self._leases.give(connection)
        return rows

    async def _acquired(self) -> Any:
        async with self.failures_explained():
            self._connecting += 1
            try:
                return await self._pool.acquire()
            finally:
                self._connecting -= 1

    async def _released(self, connection: Any) -> None:
        """Give the connection back; where that fails, the pool has closed it, and what the
        statement did stands."""
        try:
            try:
                # Row-level security has a call begin a transaction, which it may not have ended.
                if _is_open(connection) and connection.is_in_transaction():
                    await connection.execute("ROLLBACK")
            finally:
                await self._pool.release(connection, timeout=self._connect_timeout)
        except (OSError, asyncpg.InterfaceError, asyncpg.PostgresError) as error:
            log.warning("a connection to %s was given up: %s", self.place, error)

    async def _connect(self, *_: object, **options: Any) -> Any:
        """Connect, and say what is wrong where that fails: nothing was sent yet."""
        async with self.failures_explained(), asyncio.timeout(self._connect_timeout):
            try:
                return await self._connect_with(self._session, **options)
            except asyncpg.ProtocolViolationError:
                # A pooler that knows no such parameter of a session, and says so this way.
                if not self._session:
                    raise
                self._session = {}
                return await self._connect_with({}, **options)

    async def _connect_with(self, session: dict[str, str], **options: Any) -> Any:
        # asyncpg reads the URL itself: SQLAlchemy would hand on `sslmode` as an argument, which
        # asyncpg refuses.
        return await asyncpg.connect(
            self._server.dsn,
            user=self._server.user,
            password=self._server.password,
            ssl=self._server.tls,
            statement_cache_size=0 if self._server.transaction_pooler else 100,
            server_settings=session,
            **options,
        )

    def _make_engine(self) -> AsyncEngine:
        """Errors of this engine never show the arguments of a statement."""
        connect_args: dict[str, Any] = {"async_creator_fn": self._connect}
        if self._server.transaction_pooler:
            connect_args["prepared_statement_cache_size"] = 0
        connect_args["prepared_statement_name_func"] = lambda: f"todo_{uuid.uuid4()}"
        return create_async_engine(
            "postgresql+asyncpg://",
            poolclass=NullPool,
            connect_args=connect_args,
            hide_parameters=True,
        )


def _is_open(connection: Any) -> bool:
    """Whether a connection of the pool can be used."""
    try:
        return not connection.is_closed()
    except asyncpg.InterfaceError:
        return False  # the pool has taken it back, for it has ended


def _is_silent(connection: Any) -> bool:
    """Whether there is nothing to read from a connection of the pool; False where it has ended."""
    return _is_open(connection) and bool(connection.is_silent())


async def _nothing_to_reset(_connection: object) -> None:
    """Our statements leave nothing in a session: what asyncpg resets by itself would only add a
    round trip to every call."""


def explain_connecting(place: str, error: Exception) -> TodoError | None:
    """What an error of asyncpg's means before anything was sent; None for a fault of ours."""
    cause = _innermost(error)
    if isinstance(cause, asyncpg.ClientConfigurationError):
        return BadUrlError(f"The database url for {place} cannot be used: {cause}")
    if isinstance(cause, OSError | asyncpg.InterfaceError | InterfaceError):
        return DatabaseUnreachableError(place, _why(cause))
    if not isinstance(cause, asyncpg.PostgresError):
        return None
    if _tells_of_an_end(cause):
        return DatabaseUnreachableError(place, str(cause))
    return _of_answer(place, cause)


def explain_running(place: str, error: BaseException) -> TodoError | None:
    """What an error of asyncpg's means for a statement; None for a fault of ours.

    Where the server answers that a statement failed, nothing was done. Where the connection ends
    first, or whoever is in between says so, that is not known.
    """
    if isinstance(error, ValueError):
        return None  # an argument that asyncpg cannot write
    if isinstance(error, asyncpg.InterfaceError):
        return ConnectionLostError(place, str(error), sent=False)
    if isinstance(error, asyncpg.InternalClientError):
        # A server that says why it ends a connection before it does keeps statements from being
        # begun.
        return ConnectionLostError(place, str(error), sent=NOT_BEGUN not in str(error))
    if isinstance(error, OSError) or _tells_of_an_end(error):
        return ConnectionLostError(place, _why(error), sent=True)
    return _of_answer(place, error) if isinstance(error, asyncpg.PostgresError) else None


def _innermost(error: Exception) -> BaseException:
    """The driver's own error: SQLAlchemy and its adapter wrap it, each by a cause."""
    known = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError)
    inner: BaseException | None = error
    while inner is not None and not isinstance(inner, known):
        inner = inner.__cause__
    return inner or error


def _tells_of_an_end(error: BaseException) -> bool:
    state = getattr(error, "sqlstate", None) or ""
    return state in END_STATES or state.startswith(CONNECTION_CLASS)


def _of_answer(place: str, error: Any) -> TodoError | None:
    state, message = error.sqlstate or "", str(error)
    if state in BUSY_STATES:
        return DatabaseBusyError(place)
    if state in REFUSED_STATES:
        return DatabaseRefusedError(place, message)
    if state in BROKEN_STATES:
        return DatabaseRefusedError(place, message, "Look at the server's disk and its log")
    if state in STATEMENT_NAME_STATES:
        return TransactionPoolerError(place)
    if state == NO_TABLE:
        own = own_table_in(message)
        return TableMissingError(place) if own is None else OwnTableMissingError(place, own)
    if state == DUPLICATE and error.table_name == KEYS:
        return RequestKeyTakenError()
    if state == TOO_LONG or state.startswith(CONSTRAINT_CLASS):
        return InvalidTaskError("task", f"The table does not take this task: {message}")
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
