"""The SQL of every operation, compiled once for the table as it was found."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from sqlalchemy import (
    Boolean,
    ClauseElement,
    Column,
    ColumnElement,
    Dialect,
    Insert,
    Integer,
    Select,
    Table,
    Text,
    Update,
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
from .records import Records
from .table import UtcTime

Row = Sequence[Any]
Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Keeping:
    """What is kept beside `tasks`, and how long; nothing where there are no tables for it."""

    records: Records | None = None
    history: timedelta = timedelta(0)
    undo: timedelta = timedelta(0)

    @property
    def changes(self) -> Table | None:
        """The table of changes, where they are kept."""
        return self.records.history if self.records and self.history else None

    @property
    def rows(self) -> Table | None:
        """The table of deleted rows, where they are kept."""
        return self.records.deleted if self.records and self.undo else None


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement as its driver takes it.

    `parameters` are its parameters in order, each with what makes the driver's value of ours;
    `constants` are those that no call gives. `only_reads` statements change nothing. `before` and
    `after` are run with it in one transaction, for a database that cannot say all in one statement.
    """

    sql: str
    parameters: Sequence[tuple[str, Convert | None]]
    constants: Mapping[str, Any]
    only_reads: bool = False
    before: Sequence["Statement"] = ()
    after: Sequence["Statement"] = ()

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """Put the values in the order of the parameters, as the driver takes them."""
        given = {**self.constants, **values}
        return [
            given[name] if convert is None else convert(given[name])
            for name, convert in self.parameters
        ]


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
    `now` and as `at`, and who makes them as `actor`.
    """

    def __init__(self, table: Table, dialect: Dialect, keeping: Keeping = Keeping()) -> None:
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
        self._read_id = self._reader(columns.id)
        self._read_state = self._reader(columns.is_completed)
        self._read_time = self._reader(columns.created_at)
        self.add = self._changing(insert(table), _is("added"))
        self.read = self._compiled(select(*self._row).where(*self._is_it), only_reads=True)
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

    def task(self, row: Row, start: int = 0) -> TaskRead:
        """Make a task of the columns that begin at `start`."""
        task_id, title, description, is_completed, created_at = row[start : start + 5]
        if self._read_id is not None:
            task_id = self._read_id(task_id)
        if self._read_state is not None:
            is_completed = self._read_state(is_completed)
        if self._read_time is not None:
            created_at = self._read_time(created_at)
        return TaskRead(task_id, title, description, is_completed, created_at)

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
        """A change, and beside it what the history says of it."""
        history = self.keeping.changes
        if history is None:
            return self._compiled(change.returning(*self._row))
        if self.time_is_text:
            touched = self.table.c.updated_at == bindparam(
                "now", type_=self.table.c.updated_at.type
            )
            said = self._said(history, self.table.c, action, fields).where(*self._is_it, touched)
            return replace(
                self._compiled(change.returning(*self._row)),
                after=[self._compiled(_into(history, said))],
            )
        changed = change.returning(*self._row, self.table.c.user_id, self.table.c.updated_at).cte(
            "changed"
        )
        touched = changed.c.updated_at == bindparam("now", type_=self.table.c.updated_at.type)
        said = self._said(history, changed.c, action, fields).where(touched)
        shown = select(*(changed.c[column.name] for column in self._row))
        return self._compiled(shown.add_cte(_into(history, said).cte("said")))

    def _deleting(self) -> Statement:
        """A deletion; the row, and what the history says of it, are kept beside it."""
        history, rows = self.keeping.changes, self.keeping.rows
        gone = delete(self.table).where(*self._is_it)
        if history is None and rows is None:
            return self._compiled(gone.returning(*self._row))
        removed = gone.returning(*self._row, self.table.c.user_id).cte("removed")
        row = self.table.c if self.time_is_text else removed.c
        beside = []
        if rows is not None:
            beside.append((rows, self._copied(rows, row)))
        if history is not None:
            beside.append((history, self._said(history, row, _is("deleted"), None)))
        if self.time_is_text:
            before = [self._compiled(_into(to, one.where(*self._is_it))) for to, one in beside]
            return replace(self._compiled(gone.returning(*self._row)), before=before)
        shown = select(*(removed.c[column.name] for column in self._row))
        for to, one in beside:
            shown = shown.add_cte(_into(to, one).cte(to.name + "_row"))
        return self._compiled(shown)

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
            (self.keeping.changes, self.keeping.history),
            (self.keeping.rows, self.keeping.undo),
        )
        return [
            (self._compiled(delete(table).where(table.c.at < bindparam("before"))), time)
            for table, time in kept
            if table is not None
        ]

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
        created_at = row.created_at
        kind = self.table.c.created_at.type
        if not self.time_is_text and isinstance(kind, UtcTime) and not kind.timezone:
            created_at = func.timezone("UTC", created_at)  # otherwise the session's zone counts
        return select(
            bindparam("at", type_=rows.c.at.type),
            cast(row.id, Text),
            cast(row.user_id, Text),
            row.title,
            row.description,
            row.is_completed,
            created_at,
        )

    def _compiled(self, statement: ClauseElement, *, only_reads: bool = False) -> Statement:
        compiled = statement.compile(dialect=self._dialect)
        assert isinstance(compiled, SQLCompiler)
        assert compiled.positiontup is not None
        constants = {name: value for name, value in compiled.params.items() if value is not None}
        return Statement(
            sql=str(compiled),
            parameters=[
                (name, self._writer(compiled.binds[name].type)) for name in compiled.positiontup
            ],
            constants=constants,
            only_reads=only_reads,
        )

    def _reader(self, column: Column[Any]) -> Convert | None:
        return column.type.dialect_impl(self._dialect).result_processor(self._dialect, None)

    def _writer(self, kind: Any) -> Convert | None:
        convert: Convert | None = kind.dialect_impl(self._dialect).bind_processor(self._dialect)
        return convert
