"""A bus between the processes of a host, by PostgreSQL's LISTEN and NOTIFY."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it ships no types

from .address import PostgresServer

log = logging.getLogger(__name__)

CHANNEL = "mcp_host_notices"
TELL = "SELECT pg_notify($1, told) FROM unnest($2::text[]) told"
FIRST_REST, LONGEST_REST = 0.5, 30.0
"""Seconds until a lost connection is made again; doubled each time."""


class PostgresBus:
    """Keeps one connection that listens and tells; one that is lost is made again.

    What others tell while it is away is not heard.
    """

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._listeners: dict[object, Callable[[str], None]] = {}
        self._connection: Any = None
        self._is_there = asyncio.Event()
        self._is_lost = asyncio.Event()

    async def publish(self, notices: Sequence[str]) -> None:
        """Tell the other processes, as soon as there is a connection."""
        while True:
            await self._is_there.wait()
            connection = self._connection
            try:
                await connection.execute(TELL, CHANNEL, list(notices))
                return
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                if not connection.is_closed():
                    raise
                self._lost(connection)

    def subscribe(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Call a function with each notice of another process; return what ends that."""
        key = object()
        self._listeners[key] = listener
        return lambda: self._listeners.pop(key, None) and None

    async def run(self) -> None:
        """Listen until this is cancelled."""
        rest = FIRST_REST
        while True:
            try:
                connection = await self._connected()
                try:
                    await connection.add_listener(CHANNEL, self._notified)
                    rest = FIRST_REST
                    self._is_there.set()
                    await self._is_lost.wait()
                finally:
                    self._is_there.clear()
                    connection.terminate()
                log.warning("changes do not cross to other processes: the connection was lost")
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                log.warning("changes do not cross to other processes: %s", type(error).__name__)
            await asyncio.sleep(rest)
            rest = min(LONGEST_REST, 2 * rest)

    async def _connected(self) -> Any:
        self._is_lost.clear()
        server = self._server
        self._connection = await asyncpg.connect(
            server.dsn,
            user=server.user,
            password=server.password,
            ssl=server.tls,
            server_settings={"application_name": "todo_db notices"},
        )
        self._connection.add_termination_listener(self._lost)
        return self._connection

    def _lost(self, connection: Any) -> None:
        if connection is self._connection:
            self._is_there.clear()
            self._is_lost.set()

    def _notified(self, connection: Any, pid: int, _channel: str, notice: str) -> None:
        if pid != connection.get_server_pid():
            for listener in list(self._listeners.values()):
                listener(notice)


@asynccontextmanager
async def open_bus(server: PostgresServer) -> AsyncIterator[PostgresBus]:
    """A bus that listens until this ends."""
    bus = PostgresBus(server)
    running = asyncio.create_task(bus.run())
    try:
        yield bus
    finally:
        running.cancel()
