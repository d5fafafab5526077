"""Tasks in a database: every change is one SQL statement, and so one transaction."""

import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from sqlalchemy import (
    Column,
    ColumnElement,
    Executable,
    Row,
    Table,
    Text,
    Uuid,
    case,
    delete,
    func,
    insert,
    literal,
    not_,
    select,
    tuple_,
    type_coerce,
    update,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker

from ..errors import BadCursor, DatabaseUnavailable, TaskNotFound, UnknownUser
from ..model import Position, TaskPage, TaskRead, TaskUpdate
from .database import Database
from .turns import Turns

T = TypeVar("T")

NO_SUCH_USER = "23503"
"""PostgreSQL's code for a foreign key that points nowhere."""


@dataclass(frozen=True, slots=True)
class Health:
    """Whom to tell when the database goes away, and when it is back."""

    degraded: Callable[[str], None]
    recovered: Callable[[], None]


NOBODY = Health(degraded=lambda reason: None, recovered=lambda: None)


class TaskStore:
    """Everybody's tasks; each method is told whose it is about.

    All raise `DatabaseUnavailable` or `Busy` when the database does not serve, and
    `TaskNotFound` for a task that is not there or not that user's.
    """

    def __init__(
        self,
        sessions: async_sessionmaker[AsyncSession],
        table: Table,
        found: Database,
        health: Health,
    ) -> None:
        self._sessions = sessions
        self._table = table
        self._database = found
        self._is_sqlite = found.is_sqlite
        self._health = health
        self._lost = False
        self._turns = Turns()
        columns = table.c
        self._row = (
            columns.id,
            columns.title,
            columns.description,
            columns.is_completed,
            columns.created_at,
        )

    async def add(self, user_id: str, task: TaskRead) -> None:
        """Keep a new task.

        Raises `UnknownUser` when the table belongs to a table of users that lacks this one.
        """
        owner = _key(self._table.c.user_id, user_id)
        if owner is None:
            raise UnknownUser(user_id)
        statement = insert(self._table).values(
            id=task.id,
            user_id=owner,
            title=task.title,
            description=task.description,
            is_completed=task.is_completed,
            created_at=task.created_at,
            updated_at=task.created_at,
        )

        async def work(session: AsyncSession) -> None:
            try:
                await session.execute(statement)
            except DBAPIError as error:
                if getattr(error.orig, "sqlstate", None) == NO_SUCH_USER:
                    raise UnknownUser(user_id) from error
                raise

        await self._run(work)

    async def page(
        self, user_id: str, *, completed: bool | None, after: Position | None, limit: int
    ) -> TaskPage:
        """At most `limit` of a user's tasks, newest first; `completed` None means both states.

        Raises `BadCursor` for a position that no page ended with.
        """
        columns = self._table.c
        owner = _key(columns.user_id, user_id)
        if owner is None:
            return TaskPage((), 0, None)
        matching = [columns.user_id == owner]
        if completed is not None:
            matching.append(columns.is_completed.is_(completed))
        wanted = [*matching] if after is None else [*matching, self._is_after(after)]
        statement = (
            select(*self._row, type_coerce(columns.created_at, Text).label("created_text"))
            .where(*wanted)
            .order_by(columns.created_at.desc(), columns.id.desc())
            .limit(limit + 1)
        )

        async def work(session: AsyncSession) -> tuple[Sequence[Row[Any]], int]:
            rows = (await session.execute(statement)).all()
            if after is None and len(rows) <= limit:
                return rows, len(rows)
            return rows, await session.scalar(select(func.count()).where(*matching)) or 0

        rows, total = await self._run(work)
        shown, more = rows[:limit], len(rows) > limit
        return TaskPage(
            tasks=tuple(_task(row) for row in shown),
            total=total,
            next=self._position(shown[-1]) if more else None,
        )

    async def read(self, user_id: str, task_id: str) -> TaskRead:
        """One task as it is."""
        return await self._one(select(*self._row).where(*self._is(user_id, task_id)))

    async def complete(
        self, user_id: str, task_id: str, completed: bool | None, now: datetime
    ) -> TaskRead:
        """Set the state of a task, or flip it when `completed` is None; return it as it is now."""
        columns = self._table.c
        state: ColumnElement[bool] = (
            not_(columns.is_completed) if completed is None else literal(completed)
        )
        touched = case((columns.is_completed == state, columns.updated_at), else_=now)
        return await self._one(
            update(self._table)
            .where(*self._is(user_id, task_id))
            .values(is_completed=state, updated_at=touched)
            .returning(*self._row),
        )

    async def update(
        self, user_id: str, task_id: str, changes: TaskUpdate, now: datetime
    ) -> TaskRead:
        """Change the given fields of a task; return it as it is now."""
        values: dict[str, Any] = {"updated_at": now}
        if changes.title is not None:
            values["title"] = changes.title
        if changes.description is not None:
            values["description"] = changes.description or None
        return await self._one(
            update(self._table)
            .where(*self._is(user_id, task_id))
            .values(values)
            .returning(*self._row),
        )

    async def delete(self, user_id: str, task_id: str) -> TaskRead:
        """Remove a task for good; return it as it was."""
        return await self._one(
            delete(self._table).where(*self._is(user_id, task_id)).returning(*self._row)
        )

    def _is(self, user_id: str, task_id: str) -> tuple[ColumnElement[bool], ...]:
        columns = self._table.c
        owner = _key(columns.user_id, user_id)
        if owner is None:
            raise TaskNotFound
        return columns.id == task_id, columns.user_id == owner

    async def _one(self, statement: Executable) -> TaskRead:
        async def work(session: AsyncSession) -> Row[Any] | None:
            return (await session.execute(statement)).one_or_none()

        row = await self._run(work)
        if row is None:
            raise TaskNotFound
        return _task(row)

    def _position(self, row: Row[Any]) -> Position:
        # SQLite keeps times as text, and other programs may have written them shorter than
        # SQLAlchemy does: compared as a time, such a row would come up on every page.
        created_at = row.created_text if self._is_sqlite else row.created_at.isoformat()
        return Position(created_at, row.id)

    def _is_after(self, position: Position) -> ColumnElement[bool]:
        columns = self._table.c
        task_id = _key(columns.id, position.id)
        if task_id is None:
            raise BadCursor
        created: ColumnElement[Any]
        if self._is_sqlite:
            created = literal(position.created_at, Text)
        else:
            created = literal(_moment(position.created_at), columns.created_at.type)
        return tuple_(columns.created_at, columns.id) < tuple_(
            created, literal(task_id, columns.id.type)
        )

    async def finish(self) -> None:
        """Wait for what has begun."""
        await self._turns.finish()

    async def _run(self, work: Callable[[AsyncSession], Awaitable[T]]) -> T:
        """The work's answer; `health` is told when the database is gone, and when it is back."""
        try:
            if self._is_sqlite:
                answer = await self._turns.run(lambda: self._in_session(work))
            else:
                answer = await self._in_session(work)
        except DatabaseUnavailable as error:
            if not self._lost:
                self._lost = True
                self._health.degraded(str(error))
            raise
        if self._lost:
            self._lost = False
            self._health.recovered()
        return answer

    async def _in_session(self, work: Callable[[AsyncSession], Awaitable[T]]) -> T:
        with self._database.failures_explained():
            async with self._sessions.begin() as session:
                return await work(session)


def _key(column: Column[Any], text: str) -> str | None:
    """The text as the column compares it; None where its type UUID cannot hold it."""
    if not isinstance(column.type, Uuid):
        return text
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None


def _moment(text: str) -> datetime:
    """Raises `BadCursor` for a time without a zone, or too far away to have another."""
    moment = datetime.fromisoformat(text)
    try:
        aware = moment.tzinfo is not None and moment.astimezone(UTC)
    except OverflowError:
        aware = False
    if not aware:
        raise BadCursor
    return aware


def _task(row: Row[Any]) -> TaskRead:
    return TaskRead(
        id=row.id,
        title=row.title,
        description=row.description,
        is_completed=row.is_completed,
        created_at=row.created_at,
    )
