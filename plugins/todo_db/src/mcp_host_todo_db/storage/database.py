"""The two kinds of database, as one: what a store asks of them."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker

from .statement import Row, Statement


class Database(Protocol):
    """A database that is not connected yet.

    `place` names it for people. `engine` is SQLAlchemy's way to it, for its schema and for
    `AsyncSessionLocal`; it keeps no connection. With `row_security` the database itself keeps users
    apart. All methods raise a `TodoError` for what a driver reports, unless it is a fault of ours.
    """

    place: str
    engine: AsyncEngine
    makes_its_table: bool
    row_security: bool

    async def try_out(self) -> None:
        """Find out whether there is a database at all."""

    def failures_explained(self) -> AbstractAsyncContextManager[None]:
        """Turn what the engine's driver raises inside into a `TodoError`."""

    def serving(self) -> AbstractAsyncContextManager[None]:
        """Open the connections of `run`, and close them after what has begun."""

    async def run(
        self, statement: Statement, values: Mapping[str, object], user_id: str | None = None
    ) -> Sequence[Row]:
        """Run a statement in a transaction of its own, for a user, and return its rows.

        A call that is cancelled leaves no connection behind.
        """


class AsyncSessionLocal(async_sessionmaker[AsyncSession]):
    """SQLAlchemy sessions on an opened database; opening makes it, nothing lives at module level.

    Each session has a connection and a transaction of its own.
    """
