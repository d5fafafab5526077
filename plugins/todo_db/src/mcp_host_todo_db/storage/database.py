"""The two kinds of database, as one: how to connect, and how to tell what went wrong."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine

from ..errors import Busy, TodoError, Unreachable

AUTOCOMMIT = "AUTOCOMMIT"
"""Every change is one statement: the database's own transaction around it is enough, and saves
the round trips of BEGIN and COMMIT."""


@dataclass(frozen=True, slots=True)
class Database:
    """A database that is not connected yet.

    `place` names it for people. `try_out` blocks; it raises what a driver raises. `explain` says
    what a driver's error means, or None where it is a fault of ours.
    """

    place: str
    engine: AsyncEngine
    try_out: Callable[[], None]
    explain: Callable[[Exception], TodoError | None]
    is_sqlite: bool

    @contextmanager
    def failures_explained(self) -> Iterator[None]:
        """Turn what a driver raises inside into a `TodoError`; what is a fault of ours passes."""
        try:
            yield
        except TodoError:
            raise
        except Exception as error:
            told = self._told(error)
            if told is None:
                raise
            raise told from error

    def _told(self, error: Exception) -> TodoError | None:
        if isinstance(error, PoolTimeout):
            return Busy(self.place)
        if isinstance(error, TimeoutError):
            return Unreachable(self.place, "it did not answer in time")
        return self.explain(error)
