"""The SQL of every operation, compiled once for the table as it was found."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any

from sqlalchemy import (
    Boolean,
    ClauseElement,
    Column,
    ColumnElement,
    Delete,
    Dialect,
    Insert,
    Integer,
    Select,
    Table,
    Text,
    Update,
    Uuid,
    bindparam,
    case,
    cast,
    delete,
    func,
    insert,
    literal_column,
    not_,
    outerjoin,
    select,
    true,
    tuple_,
    type_coerce,
    update,
)
from sqlalchemy.sql.compiler import SQLCompiler

from ..model import MAX_TOTAL, Change, TaskRead
from .records import Answered, Keeping
from .statement import Convert, Row, Statement
from .table import UtcTime

Beside = Sequence[tuple[Table, Select[Any]]]
"""Rows for other tables, which are written with a change."""


def _are_in_utc(times: Sequence[Any]) -> bool:
    """Whether these are times in UTC already, as asyncpg gives them of columns with a zone."""
    return set(map(type, times)) == {datetime} and set(map(_zone, times)) == {UTC}


_zone = attrgetter("tzinfo")


def _is(action: str) -> Callable[[Any], Any]:
    return lambda row: literal_column(f"'{action}'")


def _now_completed(row: Any) -> Any:
    return case((row.is_completed, _is("completed")(row)), else_=_is("reopened")(row))


def _into(table: Table, rows: Select[Any]) -> Insert:
    """Insert rows that are in the order of the table's columns, without its number."""
    names = [column.name for column in table.columns if column.name != "number"]
    return insert(table).from_select(names, rows)


class Statements:
    """Every statement over one table, in one dialect.

    Rows of `page` begin with the total and end with the row's place in the list; the columns of a
    task stand between. All others give the columns of a task alone. Changes take their time as
    `now` and as `at`, and who makes them as `actor`; keyed ones take `request_key` and `body`, and
    whose it is as `kept_owner`.

    Invariants: nothing in it changes once it is made, so threads share it. Every statement that
    reads or changes a todo asks whose it is.
    """

    def __init__(self, table: Table, dialect: Dialect, keeping: Keeping) -> None:
        columns = table.c
        self.table = table
        self.keeping = keeping
        self.time_is_text = dialect.name == "sqlite"
        self._dialect = dialect
        self._row = (
            columns.id,
            columns.title,
            columns.description,
            columns.is_completed,
            columns.created_at,
        )
        self._is_it = (columns.id == bindparam("task_id"), columns.user_id == bindparam("owner"))
        is_uuid = isinstance(columns.id.type, Uuid) and columns.id.type.native_uuid
        # asyncpg's own UUID: `str` alone is SQLAlchemy's reader, without a function of Python's.
        self._read_id = str if is_uuid and not self.time_is_text else self._reader(columns.id)
        self._read_state = self._reader(columns.is_completed)
        self._read_time = self._reader(columns.created_at)
        self.add = self._changing(insert(table), _is("added"))
        self.read = self._reading()
        self.delete = self._deleting()
        now = bindparam("now", type_=columns.updated_at.type)
        self.flip = self._changing(
            update(table)
            .where(*self._is_it)
            .values(is_completed=not_(columns.is_completed), updated_at=now),
            _now_completed,
        )
        state = bindparam("completed", type_=Boolean)
        touched = case((columns.is_completed == state, columns.updated_at), else_=now)
        self.set = self._changing(
            update(table).where(*self._is_it).values(is_completed=state, updated_at=touched),
            _now_completed,
        )
        self._updates: dict[tuple[str, ...], Statement] = {
            fields: self._changing(
                update(table)
                .where(*self._is_it)
                .values(
                    {field: bindparam(f"new_{field}") for field in fields} | {"updated_at": now}
                ),
                _is("updated"),
                ",".join(fields),
            )
            for fields in [("title",), ("description",), ("title", "description")]
        }
        self.history = self._latest()
        self.answered = self._answered()
        self.forget = self._forgetting()
        self._pages = {
            (by_state, goes_on): self._page(by_state, goes_on)
            for by_state in (False, True)
            for goes_on in (False, True)
        }

    def update(self, fields: Sequence[str]) -> Statement:
        """The statement that sets these fields, `title` before `description`, to `new_…`."""
        return self._updates[tuple(fields)]

    def page(self, *, by_state: bool, goes_on: bool) -> Statement:
        """The statement of a page: of one state or both, from the start or after a position."""
        return self._pages[by_state, goes_on]

    def change(self, row: Row) -> Change:
        """Make a change of a row of the history."""
        at, action, task_id, title, fields, actor = row
        assert self.keeping.changes is not None
        read = self._reader(self.keeping.changes.c.at)
        return Change(
            at=read(at) if read else at,
            action=action,
            task_id=str(uuid.UUID(task_id)),
            title=title,
            fields=fields,
            actor=actor,
        )

    def task(self, row: Row) -> TaskRead:
        """Make a task of its columns."""
        return next(self._made(*([value] for value in row)))

    def tasks(self, rows: Sequence[Row]) -> tuple[TaskRead, ...]:
        """Make the tasks of rows of a page."""
        if not rows:
            return ()
        _, ids, titles, descriptions, states, times, _ = zip(*rows, strict=True)
        return tuple(self._made(ids, titles, descriptions, states, times))

    def _made(
        self,
        ids: Iterable[Any],
        titles: Iterable[Any],
        descriptions: Iterable[Any],
        states: Iterable[Any],
        times: Sequence[Any],
    ) -> Iterator[TaskRead]:
        """Make tasks of their columns: of a page column by column, without a loop of Python's."""
        if self._read_id is not None:
            ids = map(self._read_id, ids)
        if self._read_state is not None:
            states = map(self._read_state, states)
        moments: Iterable[Any] = times
        if self._read_time is not None and not _are_in_utc(times):
            moments = map(self._read_time, times)
        return map(TaskRead, ids, titles, descriptions, states, moments)

    def answer(self, row: Row) -> Answered:
        """Make what was answered of a row that `answered` gave."""
        body, at, task_id, title, description, is_completed, created_at = row
        keys = self.keeping.keys
        assert keys is not None
        when = self._reader(keys.c.at) or (lambda moment: moment)
        task = TaskRead(
            str(uuid.UUID(task_id)), title, description, bool(is_completed), when(created_at)
        )
        return Answered(body, when(at), task)

    def _page(self, by_state: bool, goes_on: bool) -> Statement:
        """The rows of a page beside the total, which a page without rows has as well."""
        columns = self.table.c
        matching = [columns.user_id == bindparam("owner")]
        if by_state:
            matching.append(columns.is_completed == bindparam("completed"))
        newest_first = (columns.created_at.desc(), columns.id.desc())
        # The order makes PostgreSQL count along the index that pages are read by, also where the
        # user has most of the table's rows.
        counted = (
            select(literal_column("1"))
            .where(*matching)
            .order_by(*newest_first)
            .limit(MAX_TOTAL + 1)
            .subquery()
        )
        total = select(func.count().label("total")).select_from(counted).subquery()
        page = (
            select(*self._row, self._place_in_list())
            .where(*matching, *([self._is_after()] if goes_on else []))
            .order_by(*newest_first)
            .limit(bindparam("limit", type_=Integer))
            .subquery()
        )
        both = outerjoin(total, page, true())
        order = (page.c.created_at.desc(), page.c.id.desc())
        return self._compiled(
            select(total.c.total, *page.c).select_from(both).order_by(*order), only_reads=True
        )

    def _place_in_list(self) -> ColumnElement[Any]:
        # SQLite keeps times as text, and other programs may have written them shorter than
        # SQLAlchemy does: compared as a time, such a row would come up on every page.
        created_at = self.table.c.created_at
        if self.time_is_text:
            return type_coerce(created_at, Text).label("place")
        return literal_column("NULL").label("place")

    def _is_after(self) -> ColumnElement[bool]:
        columns = self.table.c
        kept_as = Text() if self.time_is_text else columns.created_at.type
        return tuple_(columns.created_at, columns.id) < tuple_(
            bindparam("after_time", type_=kept_as), bindparam("after_id", type_=columns.id.type)
        )

    def _changing(
        self, change: Insert | Update, action: Callable[[Any], Any], fields: str | None = None
    ) -> Statement:
        """A change, and beside it what the history says of it where it changed something."""
        history = self.keeping.changes
        now = bindparam("now", type_=self.table.c.updated_at.type)

        def beside(row: Any) -> Beside:
            if history is None:
                return []
            return [
                (history, self._said(history, row, action, fields).where(row.updated_at == now))
            ]

        return self._with_key(change, beside)

    def _deleting(self) -> Statement:
        """A deletion; the row, and what the history says of it, are kept beside it."""
        history, rows = self.keeping.changes, self.keeping.rows

        def beside(row: Any) -> Beside:
            kept = [] if rows is None else [(rows, self._copied(rows, row))]
            if history is None:
                return kept
            return [*kept, (history, self._said(history, row, _is("deleted"), None))]

        return self._with_key(delete(self.table).where(*self._is_it), beside)

    def _reading(self) -> Statement:
        """One task, by a request that changes nothing of it and yet may have a key."""
        read = self._with_key(None, lambda row: [])
        return replace(read, only_reads=True, repeatable=True)

    def _with_key(
        self, change: Insert | Update | Delete | None, beside: Callable[[Any], Beside]
    ) -> Statement:
        """The statement with what is written beside it, and the same with the request's key."""
        made = self._one(change, beside)
        keys = self.keeping.keys
        if keys is None:
            return made

        def and_key(row: Any) -> Beside:
            return [*beside(row), (keys, self._asked(keys, row))]

        return replace(made, keyed=replace(self._one(change, and_key), repeatable=True))

    def _one(
        self, change: Insert | Update | Delete | None, beside: Callable[[Any], Beside]
    ) -> Statement:
        """A change and what is written beside it, given the row that is changed.

        On PostgreSQL it is one statement. SQLite runs several in one transaction: a row that leaves
        is copied before.
        """
        columns = self.table.c
        if self.time_is_text:
            written = [
                self._compiled(_into(to, rows.where(*self._is_it))) for to, rows in beside(columns)
            ]
            made = self._compiled(self._giving(change))
            if isinstance(change, Delete):
                return replace(made, before=written)
            return replace(made, after=written)
        changed = self._giving(change, columns.user_id, columns.updated_at).cte("changed")
        shown = select(*(changed.c[column.name] for column in self._row))
        written_to = beside(changed.c)
        for to, rows in written_to:
            shown = shown.add_cte(_into(to, rows).cte(to.name + "_row"))
        return self._compiled(shown if written_to else self._giving(change))

    def _giving(self, change: Insert | Update | Delete | None, *more: Column[Any]) -> Any:
        """A change that gives the columns of its task, or the question for them."""
        wanted = (*self._row, *more)
        if change is None:
            return select(*wanted).where(*self._is_it)
        return change.returning(*wanted)

    def _latest(self) -> Statement | None:
        history = self.keeping.changes
        if history is None:
            return None
        columns = history.c
        latest = (
            select(
                columns.at,
                columns.action,
                columns.task_id,
                columns.title,
                columns.fields,
                columns.actor,
            )
            .where(columns.user_id == bindparam("kept_owner"))
            .order_by(columns.number.desc())
            .limit(bindparam("limit", type_=Integer))
        )
        return self._compiled(latest, only_reads=True)

    def _forgetting(self) -> Sequence[tuple[Statement, timedelta]]:
        """The statements that remove what is older than `before`, each with its time."""
        kept = (
            (self.keeping.keys, self.keeping.requests),
            (self.keeping.rows, self.keeping.undo),
            (self.keeping.changes, self.keeping.history),
        )
        return [
            (self._compiled(delete(table).where(table.c.at < bindparam("before"))), time)
            for table, time in kept
            if table is not None
        ]

    def _answered(self) -> Statement | None:
        """What was asked with a key, when, and the task as it was answered."""
        keys = self.keeping.keys
        if keys is None:
            return None
        names = ("body", "at", "task_id", "title", "description", "is_completed", "created_at")
        kept = select(*(keys.c[name] for name in names)).where(
            keys.c.user_id == bindparam("kept_owner"),
            keys.c.request_key == bindparam("request_key"),
        )
        return self._compiled(kept, only_reads=True)

    def _said(
        self, history: Table, row: Any, action: Callable[[Any], Any], fields: str | None
    ) -> Select[Any]:
        """What the history says of the task in `row`, in the order of its columns."""
        return select(
            cast(row.user_id, Text),
            cast(row.id, Text),
            bindparam("at", type_=history.c.at.type),
            action(row),
            literal_column(f"'{fields}'") if fields else literal_column("NULL"),
            row.title,
            bindparam("actor", type_=Text),
        )

    def _copied(self, rows: Table, row: Any) -> Select[Any]:
        """The task in `row` as it is kept when it leaves, in the order of the columns."""
        return select(
            bindparam("at", type_=rows.c.at.type),
            cast(row.id, Text),
            cast(row.user_id, Text),
            row.title,
            row.description,
            row.is_completed,
            self._created_at(row),
        )

    def _asked(self, keys: Table, row: Any) -> Select[Any]:
        """What is kept of a request with a key, in the order of the columns."""
        return select(
            bindparam("kept_owner", type_=Text),
            bindparam("request_key", type_=Text),
            bindparam("body", type_=Text),
            bindparam("at", type_=keys.c.at.type),
            cast(row.id, Text),
            row.title,
            row.description,
            row.is_completed,
            self._created_at(row),
        )

    def _created_at(self, row: Any) -> Any:
        kind = self.table.c.created_at.type
        if self.time_is_text or not isinstance(kind, UtcTime) or kind.timezone:
            return row.created_at
        return func.timezone("UTC", row.created_at)  # otherwise the session's zone counts

    def _compiled(self, statement: ClauseElement, *, only_reads: bool = False) -> Statement:
        compiled = statement.compile(dialect=self._dialect)
        assert isinstance(compiled, SQLCompiler)
        assert compiled.positiontup is not None
        constants = {name: value for name, value in compiled.params.items() if value is not None}
        writers = [self._writer(compiled.binds[name].type) for name in compiled.positiontup]
        return Statement(
            sql=str(compiled),
            names=tuple(compiled.positiontup),
            converts=[(at, one) for at, one in enumerate(writers) if one is not None],
            constants=constants,
            only_reads=only_reads,
            repeatable=only_reads,
        )

    def _reader(self, column: Column[Any]) -> Convert | None:
        return column.type.dialect_impl(self._dialect).result_processor(self._dialect, None)

    def _writer(self, kind: Any) -> Convert | None:
        if (
            isinstance(kind, Uuid)
            and kind.native_uuid
            and not kind.as_uuid
            and not self.time_is_text
        ):
            return None  # asyncpg takes a UUID as text, without an object between
        convert: Convert | None = kind.dialect_impl(self._dialect).bind_processor(self._dialect)
        return convert
