"""Whose tasks changed, told to the other processes that serve the same database."""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it ships no types

from .address import PostgresServer

log = logging.getLogger(__name__)

CHANNEL = "todo_db_changes"
TELL = "SELECT pg_notify($1, told) FROM unnest($2::text[]) told"
DEBOUNCE = 0.1
"""Seconds in which several changes of one user's tasks are told as one."""
MOST_WAITING = 10_000
"""Users who wait to be told of while the database is away; of more, the newest are not."""
FIRST_REST, LONGEST_REST = 0.5, 30.0
"""Seconds until a lost connection is made again; doubled each time."""


class Notices:
    """Tells other processes by PostgreSQL's NOTIFY, and hears of them by LISTEN.

    `heard` is called with a user whose tasks somebody else has changed. What happens while the
    connection is away is told by nobody.
    """

    def __init__(self, server: PostgresServer, heard: Callable[[str], None]) -> None:
        self._server = server
        self._heard = heard
        self._name = uuid.uuid4().hex
        self._waiting: dict[str, None] = {}
        self._changed = asyncio.Event()

    def changed(self, user_id: str) -> None:
        """Tell the others, in a moment, that a user's tasks changed."""
        if len(self._waiting) < MOST_WAITING:
            self._waiting[user_id] = None
            self._changed.set()

    async def run(self) -> None:
        """Listen and tell until this is cancelled; a connection that is lost is made again."""
        rest = FIRST_REST
        while True:
            try:
                connection = await _connected(self._server)
                try:
                    await connection.add_listener(CHANNEL, self._notified)
                    rest = FIRST_REST
                    await self._tell(connection)
                finally:
                    connection.terminate()
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                log.warning("changes do not cross to other processes: %s", type(error).__name__)
            await asyncio.sleep(rest)
            rest = min(LONGEST_REST, 2 * rest)

    async def _tell(self, connection: Any) -> None:
        lost = asyncio.Event()

        def ended(_connection: Any) -> None:
            lost.set()
            self._changed.set()

        connection.add_termination_listener(ended)
        while not lost.is_set():
            await self._changed.wait()
            await asyncio.sleep(DEBOUNCE)
            self._changed.clear()
            users = list(self._waiting)
            if users and not lost.is_set():
                await connection.execute(TELL, CHANNEL, [f"{self._name}:{user}" for user in users])
                for user in users:
                    del self._waiting[user]

    def _notified(self, _connection: Any, _pid: int, _channel: str, payload: str) -> None:
        name, _, user_id = payload.partition(":")
        if name != self._name:
            self._heard(user_id)


async def _connected(server: PostgresServer) -> Any:
    return await asyncpg.connect(
        server.dsn,
        user=server.user,
        password=server.password,
        ssl=server.tls,
        server_settings={"application_name": "todo_db notices"},
    )


@asynccontextmanager
async def notices(server: PostgresServer, heard: Callable[[str], None]) -> AsyncIterator[Notices]:
    """Notices that are told and heard until this ends."""
    made = Notices(server, heard)
    running = asyncio.create_task(made.run())
    try:
        yield made
    finally:
        running.cancel()
