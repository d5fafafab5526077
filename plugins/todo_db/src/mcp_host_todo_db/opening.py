"""From the pack's settings to the service that its tools use."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from .errors import BadUrlError
from .resources import uris_of
from .service import TaskService
from .storage import (
    Health,
    PostgresBus,
    PostgresServer,
    SqliteFile,
    open_bus,
    open_store,
    read_url,
)

if TYPE_CHECKING:
    from mcp_host import PackHandle

    from .settings import TodoDbSettings


@asynccontextmanager
async def open_service(settings: TodoDbSettings, pack: PackHandle) -> AsyncIterator[TaskService]:
    """Open the database of the settings, or the SQLite file in the pack's data folder.

    Raises `BadUrlError`, and `DatabaseUnavailableError` within `connect_timeout` seconds.
    """
    url = settings.url and read_url(settings.url.get_secret_value())
    health = Health(
        degraded=partial(
            pack.degraded,
            code="database_unavailable",
            remedy="Check that the database runs; the pack goes on as soon as it answers",
        ),
        recovered=pack.recovered,
    )
    async with open_store(
        url or SqliteFile(pack.data_dir / "todo.db"),
        connect_timeout=settings.connect_timeout,
        statement_timeout=settings.statement_timeout,
        pool_size=settings.pool_size,
        history_days=settings.history_days,
        undo_days=settings.undo_days,
        row_security=settings.row_security,
        health=health,
    ) as store:

        def tell(user_id: str) -> None:
            for uri in uris_of(user_id):
                pack.changed(uri)

        yield TaskService(store, only_user=settings.user_id, changed=tell)


def open_notices(url: str) -> AbstractAsyncContextManager[PostgresBus]:
    """Open the bus of `bus_url`; `BadUrlError` where LISTEN would reach nobody there."""
    address = read_url(url)
    if not isinstance(address, PostgresServer) or address.transaction_pooler:
        raise BadUrlError("bus_url must be of PostgreSQL itself, not of a transaction pooler")
    return open_bus(address)
