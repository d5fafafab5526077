"""The PostgreSQL store: one schema for each plan, for more than one machine."""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

import json
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, LiteralString
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import sql as names

from ..errors import BusyError, UnavailableError, UnreachableError
from ..model import Found, Task, Wanted
from .readiness import hold_up_all
from .sql import (
    FEW,
    SHORTEST_PREFIX,
    SOME,
    STEPS,
    SUMMARY,
    TABLES,
    VERSION,
    Reworded,
    SqlView,
    Where,
    common_conditions,
    indexed,
    is_status,
    reworded,
    status_word,
    steps_from,
    summary_of,
)
from .store import COUNTED, Changes, Guard, no_guard

_STATEMENT_MS = 30_000
_LONGEST_WORD = 500
# So many tasks are looked at to count those that fulfil other conditions as well.
_EXAMINED = 4_000
# So many texts are read to learn whether words are often together.
_SAMPLE = 1_000
# From this part of the texts on, words are sooner found by reading texts than by the index.
_COMMON = 0.4
_KNOWS_JIT = 110_000
# So many rows go to the server in one statement.
_ROWS = 1_000
_VECTOR = "array_to_tsvector(string_to_array({}, ' '))"
_CLOCK: LiteralString = "SELECT clock_timestamp()"
_TEXT = 'TEXT COLLATE "C"'
_WORDS = """
CREATE TABLE words (number BIGINT NOT NULL PRIMARY KEY, words TSVECTOR NOT NULL);
CREATE INDEX words_index ON words USING gin (words);
CREATE TABLE format (version INTEGER NOT NULL);
CREATE TABLE vocabulary (word {text} NOT NULL PRIMARY KEY);
"""
# Before format 5 the words that tasks have were known only to the index.
_TO_FORMAT_5 = """
CREATE TABLE vocabulary (word {text} NOT NULL PRIMARY KEY);
INSERT INTO vocabulary
    SELECT word FROM ts_stat('SELECT words FROM words') WHERE NOT starts_with(word, '·');
"""
# What some hosting providers add to a URL and libpq does not know.
_NOT_LIBPQ = frozenset({"pgbouncer", "connection_limit", "pool_timeout", "schema"})


class Postgres:
    """A plan in a PostgreSQL schema. Writers of one plan take turns; readers wait for nobody."""

    kind = "postgresql"

    def __init__(self, url: str, schema: str) -> None:
        self._url = libpq_url(url)
        self._schema = schema
        self._idle: list[psycopg.Connection[tuple[Any, ...]]] = []
        self._lock = threading.Lock()
        self._closed = False

    def open(self) -> "Postgres":
        """Connect, and make the plan's schema where there is none."""
        self._prepare()
        return self

    @contextmanager
    def read(self, guard: Guard = no_guard) -> Iterator[SqlView]:
        guard()
        with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as view:
            yield view

    @contextmanager
    def write(self, guard: Guard = no_guard) -> Iterator[SqlView]:
        guard()
        # The row is the plan's turnstile: numbers, event ids and cycle checks need one writer.
        turnstile = "SELECT version FROM format FOR UPDATE"
        with self._transaction("BEGIN ISOLATION LEVEL READ COMMITTED", turnstile) as view:
            yield view
            guard()

    def tidy(self, *, is_pause: bool = True) -> None:
        """The server does that itself."""

    def check(self) -> list[str]:
        """The server looks after its own files."""
        return []

    def close(self) -> None:
        with self._lock:
            self._closed = True
            while self._idle:
                self._idle.pop().close()

    @contextmanager
    def _transaction(self, begin: LiteralString, *then: LiteralString) -> Iterator["PostgresView"]:
        with self._connection() as connection:
            try:
                # One message to the server, not one for each: it may be far away. Its clock is
                # read last, when a write's turn has come.
                opening = [*self._opening(connection, begin, *then), names.SQL(_CLOCK)]
                told = connection.execute(names.SQL("; ").join(opening)).set_result(-1).fetchone()
                assert told
                yield PostgresView(connection, told[0])
                self._commit(connection)
            except UnreachableError:
                raise
            except BaseException:
                if not connection.closed:
                    connection.execute("ROLLBACK")
                raise

    def _commit(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        try:
            connection.execute("COMMIT")
        except psycopg.errors.QueryCanceled:
            raise
        except psycopg.OperationalError as error:  # it may have been done, or not
            raise UnreachableError(sent=True) from error

    def _opening(
        self,
        connection: psycopg.Connection[tuple[Any, ...]],
        begin: LiteralString,
        *then: LiteralString,
    ) -> Iterator[names.Composable]:
        """Return what a transaction begins with. The settings are its own, since a pooler may give
        the session to somebody else after it."""
        yield names.SQL(begin)
        yield names.SQL("SET LOCAL search_path TO {}").format(names.Identifier(self._schema))
        yield names.SQL("SET LOCAL statement_timeout TO {}").format(_STATEMENT_MS)
        if connection.info.server_version >= _KNOWS_JIT:
            # To compile a search takes longer than to run it.
            yield names.SQL("SET LOCAL jit TO off")
        yield from map(names.SQL, then)

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        try:
            connection = self._borrow()
            try:
                yield connection
            finally:
                self._give_back(connection)
        except psycopg.errors.QueryCanceled as error:
            raise BusyError(
                "The database did not answer in time.",
                reason="store_busy",
                suggestions=["Try again."],
            ) from error
        except psycopg.OperationalError as error:
            # The driver's words name host and user, and may come to hold more: not passed on.
            raise UnreachableError(sent=False) from error

    def _borrow(self) -> psycopg.Connection[tuple[Any, ...]]:
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                if not connection.closed and not connection.broken:
                    return connection
        # Prepared statements would not survive a pooler between here and the database.
        return psycopg.connect(
            self._url, autocommit=True, connect_timeout=10, prepare_threshold=None
        )

    def _give_back(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        idle = connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
        with self._lock:
            if idle and not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _prepare(self) -> None:
        with self._connection() as connection, connection.transaction():
            # Two machines may meet a new plan at once; the lock is named after the schema.
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (self._schema,))
            found = connection.execute(
                "SELECT 1 FROM information_schema.tables "
                "WHERE table_schema = %s AND table_name = 'format'",
                (self._schema,),
            ).fetchone()
            schema = names.Identifier(self._schema)
            if found:
                self._upgrade(connection, schema)
                return
            connection.execute(names.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
            connection.execute("SELECT set_config('search_path', %s, true)", (self._schema,))
            connection.execute((TABLES + _WORDS).format(text=_TEXT).encode())
            connection.execute("INSERT INTO format VALUES (%s)", (VERSION,))

    def _upgrade(
        self, connection: psycopg.Connection[tuple[Any, ...]], schema: names.Identifier
    ) -> None:
        """Bring a plan of an older format up to this one's; a newer one is refused."""
        row = connection.execute(
            names.SQL("SELECT version FROM {}.format").format(schema)
        ).fetchone()
        version = row[0] if row else None
        if version in STEPS:
            connection.execute("SELECT set_config('search_path', %s, true)", (self._schema,))
            words = _TO_FORMAT_5 if version < 5 else ""
            connection.execute((steps_from(version) + words).format(text=_TEXT).encode())
            hold_up_all(PostgresView(connection, datetime.now(UTC)))
            connection.execute("UPDATE format SET version = %s", (VERSION,))
        elif version != VERSION:
            raise UnavailableError(
                f"The plan's database has format {version}; this Tasky reads {VERSION}.",
                reason="newer_store",
                suggestions=["Upgrade mcp-host-tasky."],
            )


def _together(connection: psycopg.Connection[tuple[Any, ...]]) -> AbstractContextManager[object]:
    """Let statements go out without waiting for the answers before them, where libpq can."""
    return connection.pipeline() if psycopg.Pipeline.is_supported() else nullcontext()


class PostgresView(SqlView):
    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]], now: datetime) -> None:
        self._connection = connection
        self._now = now
        self._spelt: dict[str, str] = {}

    def now(self) -> datetime:
        return self._now

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(_psycopg(sql), values).fetchall()

    def run(self, sql: str, many: Iterable[Sequence[Any]]) -> None:
        rows = list(many)
        if rows:
            with self._connection.cursor() as cursor:
                cursor.executemany(_psycopg(sql), rows)

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        names = ", ".join(columns)
        source = f"SELECT {names} FROM json_populate_recordset(NULL::{table}, ?::json)"
        for part in _as_json(columns, rows):
            self.rows_of(f"INSERT INTO {table} ({names}) {source}", (part,))

    def update(
        self, table: str, columns: Sequence[str], key: str, rows: Sequence[Sequence[Any]]
    ) -> None:
        # One statement for all rows: the server plans it once.
        settings = ", ".join(f"{column} = new.{column}" for column in columns)
        source = f"json_populate_recordset(NULL::{table}, ?::json) AS new"
        for part in _as_json([*columns, key], rows):
            sql = f"UPDATE {table} SET {settings} FROM {source} WHERE {table}.{key} = new.{key}"
            self.rows_of(sql, (part,))

    def apply(self, changes: Changes) -> None:
        with _together(self._connection):
            super().apply(changes)
        self._spelt.clear()

    def among(self, values: Collection[Any]) -> tuple[str, Any]:
        return "= ANY (?)", list(values)

    def each(self, values: Collection[Any]) -> tuple[str, Any]:
        return "unnest(?::text[]) AS one (value)", list(values)

    def put_words(self, rows: list[tuple[int, str]]) -> None:
        cut = [(number, text.split()) for number, text in rows]
        for part in _as_json(("number", "text"), [(number, _joined(one)) for number, one in cut]):
            self.rows_of(
                "INSERT INTO words (number, words) "
                f"SELECT number, {_VECTOR.format('text')} FROM json_to_recordset(?::json) "
                "AS given (number bigint, text text)",
                (part,),
            )
        self._learn({word for _, words in cut for word in words})

    def replace_words(self, pairs: list[tuple[Task, Task]]) -> None:
        changes = [change for pair in pairs if any((change := _reworded(*pair))[1:])]
        rows = [(number, _joined(gone), _joined(new)) for number, gone, new in changes]
        for part in _as_json(("number", "gone", "new"), rows):
            self.rows_of(
                "UPDATE words SET words = "
                "ts_delete(words, string_to_array(other.gone, ' ')) || "
                f"{_VECTOR.format('other.new')} FROM json_to_recordset(?::json) "
                "AS other (number bigint, gone text, new text) WHERE words.number = other.number",
                (part,),
            )
        self._learn({word for change in changes for word in change.new})

    def _learn(self, met: set[str]) -> None:
        words = sorted(word for word in met if not is_status(word))
        if words:
            self.rows_of(
                "INSERT INTO vocabulary SELECT unnest(string_to_array(?, ' ')) "
                "ON CONFLICT DO NOTHING",
                (_joined(words),),
            )

    def drop_words(self, numbers: list[int]) -> None:
        self.run("DELETE FROM words WHERE number = ?", [(number,) for number in numbers])

    def search(self, wanted: Wanted, after: str, limit: int, count: bool) -> Found:
        if wanted.words and (found := self._with_words(wanted, after, limit)):
            return found
        where = self._conditions(wanted)
        few = self._few(wanted)
        if few is not None:
            return self.from_few(few, wanted, where, after, limit)
        columns = SUMMARY + (", details" if wanted.words else "")
        rows = self.rows(
            f"SELECT {columns} FROM tasks WHERE {where} AND sort_key > ? ORDER BY sort_key LIMIT ?",
            (*where.values, after, limit + 1),
        )
        page = [summary_of(row, wanted) for row in rows]
        total, is_part = self._total(wanted, where) if count else (0, False)
        return self.found(page, total, wanted, is_part=is_part)

    def unblocking(self, wanted: Wanted) -> tuple[str, Where]:
        return "tasks", self._conditions(wanted)

    def from_few(
        self, numbers: Collection[int], wanted: Wanted, where: Where, after: str, limit: int
    ) -> Found:
        clause, value = self.among(numbers)
        # Found before they are sorted: else the database could walk all tasks in list order.
        few = f"SELECT sort_key, number FROM tasks WHERE number {clause} AND {where}"
        page = self.rows(
            f"WITH few AS MATERIALIZED ({few}) SELECT number, (SELECT count(*) FROM few) FROM few "
            "WHERE sort_key > ? ORDER BY sort_key LIMIT ?",
            (value, *where.values, after, limit + 1),
        )
        total = page[0][1] if page else 0
        return Found(self.summaries([row[0] for row in page], wanted), total)

    def _with_words(self, wanted: Wanted, after: str, limit: int) -> Found | None:
        """Return the page, unless more tasks have the words than are counted."""
        query = self._query(wanted)
        rest = self._conditions(replace(wanted, words=()))
        # An array has the database look each up by its number. All stays there but for the page.
        ((worded, total, page),) = self.rows(
            f"WITH found AS MATERIALIZED ({self._matching(query, COUNTED + 1)}), "
            "few AS MATERIALIZED (SELECT sort_key, number FROM tasks WHERE number = ANY (CASE "
            f"WHEN (SELECT count(*) FROM found) <= {COUNTED} THEN ARRAY(SELECT number FROM found) "
            f"END) AND {rest}) SELECT (SELECT count(*) FROM found), (SELECT count(*) FROM few), "
            "ARRAY(SELECT number FROM few WHERE sort_key > ? ORDER BY sort_key LIMIT ?)",
            (query, *rest.values, after, limit + 1),
        )
        return Found(self.summaries(page, wanted), total) if worded <= COUNTED else None

    def _matching(self, query: str, limit: int) -> str:
        """Return the SELECT of the numbers of tasks with the words, at most so many.

        Texts that are read one after the other soon show enough of those that half of the tasks
        are. All others are found by the index: the planner takes words for independent, of two that
        never meet it expects many, and would read all texts to meet the first.
        """
        sql = "SELECT number FROM words WHERE words @@ ?::tsquery"
        if not self._are_common(query):
            sql = f"WITH every AS MATERIALIZED ({sql}) SELECT number FROM every"
        return f"{sql} LIMIT {limit}"

    def _are_common(self, query: str) -> bool:
        sample = f"SELECT words FROM words ORDER BY number LIMIT {_SAMPLE}"
        sql = f"SELECT count(*) FROM ({sample}) AS first WHERE words @@ ?::tsquery"
        return int(self.rows(sql, (query,))[0][0]) > _SAMPLE * _COMMON

    def _few(self, wanted: Wanted) -> list[int] | None:
        """Return the numbers that one of the conditions leaves, when they are few."""
        probes: list[tuple[str, Any, int]] = []
        if wanted.claimed_by is not None or wanted.held_by is not None or wanted.held:
            probes.append(("SELECT number FROM tasks WHERE claimed_until > ?", wanted.now, SOME))
        if wanted.created_after:
            created = "SELECT number FROM tasks WHERE created_at > ?"
            probes.append((created, wanted.created_after, FEW))
        if wanted.due_until:
            probes.append(("SELECT number FROM tasks WHERE due_at <= ?", wanted.due_until, FEW))
        probes += [("SELECT number FROM tagged WHERE tag = ?", tag, FEW) for tag in wanted.tags]
        for sql, value, few in probes:
            found = self.rows(f"{sql} LIMIT {few + 1}", (value,))
            if len(found) <= few:
                return [row[0] for row in found]
        if together := self.with_tags(wanted.tags):
            sql, values = together
            found = self.rows(f"{sql} LIMIT {SOME + 1}", values)
            return [row[0] for row in found] if len(found) <= SOME else None
        return None

    def _total(self, wanted: Wanted, where: Where) -> tuple[int, bool]:
        """Return how many match, and whether that is of those that were looked at alone."""
        if wanted.only_status:
            return self.counted(wanted.status), False
        if wanted.words:  # more tasks have them than are counted
            if wanted == wanted.only(words=wanted.words, status=wanted.status):
                return COUNTED + 1, False
            query = self._query(wanted)
            rest = self._conditions(replace(wanted, words=()))
            first = f"ARRAY({self._matching(query, _EXAMINED)})"
            sql = f"SELECT count(*) FROM tasks WHERE number = ANY ({first}) AND {rest}"
            ((total,),) = self.rows(sql, (query, *rest.values))
            return int(total), True
        if not (wanted.tags or wanted.due_until or wanted.created_after):
            return self.count(f"SELECT 1 FROM tasks WHERE {where}", where.values), False
        # The index of the walk gives the first tasks; among these the rest is looked at.
        apart = self._conditions(replace(wanted, tags=(), due_until=None, created_after=None))
        walk = (
            f"SELECT number, due_at, created_at FROM tasks WHERE {apart} "
            f"ORDER BY sort_key LIMIT {_EXAMINED + 1}"
        )
        ((looked_at,),) = self.rows(f"SELECT count(*) FROM ({walk}) AS first", apart.values)
        rest = self._conditions(
            wanted.only(
                tags=wanted.tags, due_until=wanted.due_until, created_after=wanted.created_after
            )
        )
        sql = f"SELECT count(*) FROM ({walk}) AS tasks WHERE {rest}"
        ((total,),) = self.rows(sql, (*apart.values, *rest.values))
        return int(total), looked_at > _EXAMINED

    def _conditions(self, wanted: Wanted) -> Where:
        where = common_conditions(wanted, "number")
        if wanted.due_until:
            where.need("due_at <= ?", wanted.due_until)
        if wanted.created_after:
            where.need("created_at > ?", wanted.created_after)
        if wanted.words:
            matching = "number IN (SELECT number FROM words WHERE words @@ ?::tsquery)"
            where.need(matching, self._query(wanted))
        return where

    def _query(self, wanted: Wanted) -> str:
        """Return the text search: the status, and every word as the beginning of a word."""
        status = [f"'{status_word(wanted.status)}'"] if wanted.status else []
        return " & ".join([*status, *(self._one_of(word) for word in wanted.words)])

    def _one_of(self, word: str) -> str:
        """Return what matches a word, or all known words that begin so: a true prefix has the
        database list all tasks of each before it looks at the next condition."""
        cut = word[:_LONGEST_WORD]
        if len(word) < SHORTEST_PREFIX:
            return f"'{cut}'"
        if cut not in self._spelt:
            known = self.known(cut)
            spelt = " | ".join(f"'{one}'" for one in known or [cut])
            self._spelt[cut] = f"'{cut}':*" if known is None else f"({spelt})"
        return self._spelt[cut]


def _reworded(old: Task, new: Task) -> Reworded:
    """Compare a task's words; where one is cut that it loses, another may be cut to the same."""
    change = reworded(old, new)
    if any(len(word) > _LONGEST_WORD for word in change.gone):
        return Reworded(new.number, set(indexed(old).split()), set(indexed(new).split()))
    return change


def _joined(words: Iterable[str]) -> str:
    """Return the words as one text, each short enough for an index."""
    return " ".join(word[:_LONGEST_WORD] for word in words)


def _as_json(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Return the rows as JSON, by the names of their columns, so many at a time."""
    for start in range(0, len(rows), _ROWS):
        part = [dict(zip(columns, row, strict=True)) for row in rows[start : start + _ROWS]]
        yield json.dumps(part, ensure_ascii=False)


def _psycopg(sql: str) -> bytes:
    return sql.replace("?", "%s").encode()


def libpq_url(url: str) -> str:
    """Return the URL as libpq takes it: no driver in the scheme, no parameter it does not know."""
    parts = urlsplit(url)
    scheme = "postgresql" if parts.scheme.startswith("postgres") else parts.scheme
    query = urlencode([pair for pair in parse_qsl(parts.query) if pair[0] not in _NOT_LIBPQ])
    return urlunsplit(parts._replace(scheme=scheme, query=query))
