"""Tasks in a database: every operation is one SQL statement, and so one transaction."""

import asyncio
import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Column, Uuid, delete, insert, select, text

from ..errors import (
    BadCursorError,
    DatabaseBusyError,
    DatabaseUnavailableError,
    InvalidTaskError,
    NotKeptError,
    RequestKeyReusedError,
    RequestKeyTakenError,
    TaskNotFoundError,
    TodoError,
    UnknownUserError,
)
from ..model import MAX_TOTAL, Change, Position, TaskPage, TaskRead, TaskUpdate
from ..request_key import RequestKey
from .database import AsyncSessionLocal, Database
from .row_security import seen_by
from .statement import Row, Statement
from .statements import Statements

log = logging.getLogger(__name__)

NO_SUCH_USER = "23503"
"""PostgreSQL's code for a foreign key that points nowhere."""

FORGET_EVERY = timedelta(hours=6)
"""How often old records are removed, by a change that comes after so long."""


@dataclass(frozen=True, slots=True)
class Health:
    """Whom to tell when the database goes away, and when it is back."""

    degraded: Callable[[str], None]
    recovered: Callable[[], None]


NOBODY = Health(degraded=lambda reason: None, recovered=lambda: None)


class TaskStore:
    """Everybody's tasks; each method is told whose it is about.

    All raise `DatabaseUnavailableError` or `DatabaseBusyError` when the database does not serve,
    and `TaskNotFoundError` for a task that is not there or not that user's. `sessions` are
    SQLAlchemy's way to the same `table`.
    """

    def __init__(
        self,
        database: Database,
        statements: Statements,
        sessions: AsyncSessionLocal,
        health: Health,
    ) -> None:
        self.sessions = sessions
        self.table = statements.table
        self._database = database
        self._statements = statements
        self._health = health
        self._lost = False
        self._forgetting: asyncio.Task[None] | None = None
        self._forgot_at = datetime.min.replace(tzinfo=UTC)

    async def add(
        self,
        user_id: str,
        task: TaskRead,
        *,
        actor: str | None = None,
        request: RequestKey | None = None,
    ) -> TaskRead:
        """Keep a new task and return it.

        Raises `UnknownUserError` when the table belongs to a table of users that lacks this one.
        """
        owner = _key(self.table.c.user_id, user_id)
        if owner is None:
            raise UnknownUserError(user_id)
        try:
            return await self._change(
                self._statements.add,
                task.created_at,
                actor,
                request,
                owner=owner,
                task_id=task.id,
                id=task.id,
                user_id=owner,
                title=task.title,
                description=task.description,
                is_completed=task.is_completed,
                created_at=task.created_at,
                updated_at=task.created_at,
            )
        except InvalidTaskError as error:
            if getattr(error.__cause__, "sqlstate", None) == NO_SUCH_USER:
                raise UnknownUserError(user_id) from error
            raise

    async def page(
        self, user_id: str, *, completed: bool | None, after: Position | None, limit: int
    ) -> TaskPage:
        """At most `limit` of a user's tasks, newest first; `completed` None means both states.

        Raises `BadCursorError` for a position that no page ended with.
        """
        owner = _key(self.table.c.user_id, user_id)
        if owner is None:
            return TaskPage((), 0, None)
        values: dict[str, Any] = {"owner": owner, "limit": limit + 1}
        if completed is not None:
            values["completed"] = completed
        if after is not None:
            values |= self._values_of(after)
        statement = self._statements.page(by_state=completed is not None, goes_on=after is not None)
        rows = await self._run(statement, **values)
        total = rows[0][0]
        found = rows if rows[0][1] is not None else ()  # else the one row is that of the total
        tasks = self._statements.tasks(found[:limit])
        return TaskPage(
            tasks=tasks,
            total=min(total, MAX_TOTAL),
            next=self._position(tasks[-1], found[limit - 1]) if len(found) > limit else None,
            more_than_total=total > MAX_TOTAL,
        )

    async def read(
        self, user_id: str, task_id: str, now: datetime, *, request: RequestKey | None = None
    ) -> TaskRead:
        """One task as it is."""
        owner = self._owner(user_id)
        return await self._change(
            self._statements.read, now, None, request, owner=owner, task_id=task_id
        )

    async def complete(
        self,
        user_id: str,
        task_id: str,
        completed: bool | None,
        now: datetime,
        *,
        actor: str | None = None,
        request: RequestKey | None = None,
    ) -> TaskRead:
        """Set the state of a task, or flip it when `completed` is None; return it as it is now."""
        owner = self._owner(user_id)
        if completed is None:
            return await self._change(
                self._statements.flip, now, actor, request, owner=owner, task_id=task_id
            )
        return await self._change(
            self._statements.set,
            now,
            actor,
            request,
            owner=owner,
            task_id=task_id,
            completed=completed,
        )

    async def update(
        self,
        user_id: str,
        task_id: str,
        changes: TaskUpdate,
        now: datetime,
        *,
        actor: str | None = None,
        request: RequestKey | None = None,
    ) -> TaskRead:
        """Change the given fields of a task; return it as it is now."""
        given = {"title": changes.title, "description": changes.description}
        new = {name: text for name, text in given.items() if text is not None}
        return await self._change(
            self._statements.update(tuple(new)),
            now,
            actor,
            request,
            owner=self._owner(user_id),
            task_id=task_id,
            **{f"new_{name}": text or None for name, text in new.items()},
        )

    async def delete(
        self,
        user_id: str,
        task_id: str,
        now: datetime,
        *,
        actor: str | None = None,
        request: RequestKey | None = None,
    ) -> TaskRead:
        """Remove a task for good; return it as it was."""
        owner = self._owner(user_id)
        return await self._change(
            self._statements.delete, now, actor, request, owner=owner, task_id=task_id
        )

    async def restore(self, user_id: str, task_id: str, now: datetime) -> str:
        """Bring a deleted task back and return its title.

        Raises `NotKeptError`, and `TaskNotFoundError` where no deleted row of it is kept.
        """
        kept = self._statements.keeping.rows
        if kept is None:
            raise NotKeptError("deleted tasks", "undo_days")
        columns = self.table.c
        owner = _as_kept(columns.user_id, self._owner(user_id))
        mine = (
            kept.c.user_id == owner,
            kept.c.task_id == _as_kept(columns.id, task_id),
        )
        async with self._database.failures_explained(), self.sessions.begin() as session:
            if self._database.row_security:
                await session.execute(text(seen_by(owner)))
            newest = select(kept).where(*mine).order_by(kept.c.number.desc()).limit(1)
            row = (await session.execute(newest.with_for_update())).first()
            if row is None:
                raise TaskNotFoundError
            await session.execute(
                insert(self.table).values(
                    id=task_id,
                    user_id=row.user_id,
                    title=row.title,
                    description=row.description,
                    is_completed=row.is_completed,
                    created_at=row.created_at,
                    updated_at=now,
                )
            )
            await session.execute(delete(kept).where(*mine))
            history = self._statements.keeping.changes
            if history is not None:
                await session.execute(
                    insert(history).values(
                        user_id=row.user_id,
                        task_id=row.task_id,
                        at=now,
                        action="restored",
                        title=row.title,
                    )
                )
            title: str = row.title
            return title

    async def history(self, user_id: str, *, limit: int) -> tuple[Change, ...]:
        """The latest changes of a user's tasks, newest first.

        Raises `NotKeptError`.
        """
        latest = self._statements.history
        if latest is None:
            raise NotKeptError("history", "history_days")
        owner = self._owner(user_id)
        rows = await self._run(latest, owner=owner, limit=limit)
        return tuple(self._statements.change(row) for row in rows)

    async def finish(self) -> None:
        """Give up what is done beside the calls."""
        if self._forgetting is not None:
            self._forgetting.cancel()
            await asyncio.wait([self._forgetting])

    def _owner(self, user_id: str) -> str:
        owner = _key(self.table.c.user_id, user_id)
        if owner is None:
            raise TaskNotFoundError
        return owner

    def _task(self, rows: Sequence[Row]) -> TaskRead:
        if not rows:
            raise TaskNotFoundError
        return self._statements.task(rows[0])

    async def _change(
        self,
        statement: Statement,
        now: datetime,
        actor: str | None,
        request: RequestKey | None,
        **values: Any,
    ) -> TaskRead:
        values |= {"now": now, "at": now, "actor": actor}
        if request is None:
            task = self._task(await self._run(statement, **values))
        else:
            task = await self._once(statement, request, **values)
        if now - self._forgot_at > FORGET_EVERY and not statement.only_reads:
            self._forgot_at = now
            self._forgetting = asyncio.create_task(self._forget(now))
        return task

    async def _once(self, statement: Statement, request: RequestKey, **values: Any) -> TaskRead:
        """Run a change and keep its key with it; where the key is taken, change nothing.

        The table of keys has a key of a user's once: a second call waits there for the first. What
        was answered to the key is then the answer. Raises `RequestKeyReusedError`.
        """
        find = self._statements.answered
        if statement.keyed is None or find is None:
            raise NotKeptError("request keys")
        key = {"owner": values["owner"], "request_key": request.text}
        for _ in range(3):
            refused: TodoError
            try:
                return self._task(
                    await self._run(statement.keyed, **{**values, **key}, body=request.body)
                )
            except (RequestKeyTakenError, TaskNotFoundError, InvalidTaskError) as error:
                # A task that is gone, or an id that is there, may be this very request's work.
                refused = error
            found = await self._run(find, **key)
            if found:
                answered = self._statements.answer(found[0])
                if answered.at >= values["now"] - self._statements.keeping.requests:
                    if answered.body != request.body:
                        raise RequestKeyReusedError(request.text)
                    return answered.task
                await self._forget(values["now"])
            elif not isinstance(refused, RequestKeyTakenError):
                raise refused
        raise DatabaseBusyError(self._database.place)  # the key comes and goes under our hands

    async def _forget(self, now: datetime) -> None:
        """Remove what was kept for longer than it is to be; a failure is nobody's answer."""
        try:
            for statement, time in self._statements.forget:
                await self._database.run(statement, {"before": now - time})
        except TodoError as error:
            log.warning("old records could not be removed: %s", error)

    def _position(self, task: TaskRead, row: Row) -> Position:
        """The position after a task; `row` ends with its place in the list where that is text."""
        return Position(row[-1] or task.created_at.isoformat(), task.id)

    def _values_of(self, position: Position) -> dict[str, Any]:
        task_id = _key(self.table.c.id, position.id)
        if task_id is None:
            raise BadCursorError
        moment = position.created_at if self._statements.time_is_text else _moment(position)
        return {"after_time": moment, "after_id": task_id}

    async def _run(self, statement: Statement, **values: Any) -> Sequence[Row]:
        """The rows; `health` is told when the database is gone, and when it is back."""
        kept_owner = _as_kept(self.table.c.user_id, values["owner"])
        try:
            rows = await self._database.run(
                statement, {**values, "kept_owner": kept_owner}, kept_owner
            )
        except DatabaseUnavailableError as error:
            if not self._lost:
                self._lost = True
                self._health.degraded(str(error))
            raise
        if self._lost:
            self._lost = False
            self._health.recovered()
        return rows


def _key(column: Column[Any], text: str) -> str | None:
    """The text as the column compares it; None where its type UUID cannot hold it."""
    if not isinstance(column.type, Uuid):
        return text
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None


def _as_kept(column: Column[Any], text: str) -> str:
    """What becomes of a value of the column where it is kept as text."""
    if isinstance(column.type, Uuid) and not column.type.native_uuid:
        return uuid.UUID(text).hex
    return text


def _moment(position: Position) -> datetime:
    """Raises `BadCursorError` for a time without a zone, or too far away to have another."""
    moment = datetime.fromisoformat(position.created_at)
    try:
        aware = moment.tzinfo is not None and moment.astimezone(UTC)
    except OverflowError:
        aware = False
    if not aware:
        raise BadCursorError
    return aware
