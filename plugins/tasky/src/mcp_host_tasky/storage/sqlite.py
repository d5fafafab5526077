"""The SQLite store: one file in WAL mode, a few connections, full text by FTS5."""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ..errors import BusyError, TaskyError, UnavailableError
from ..model import Found, Wanted
from .readiness import hold_up_all
from .sql import (
    FEW,
    SHORTEST_PREFIX,
    TABLES,
    TO_FORMAT_3,
    TO_FORMAT_4,
    SqlView,
    Where,
    common_conditions,
    says,
    status_word,
)
from .store import EXAMINED, Guard, no_guard, read_only
from .upgrade import Backup, refuse_foreign, upgrade_sqlite

VERSION = 4
# So much of the index of words is merged, in pages, when nobody writes, and between two writes.
_MERGED_PAGES = 200
_MERGED_MEANWHILE = 32
# From so many bytes of log on, its pages are copied into the file while others write as well.
_LONG_LOG = 8_000_000
_MAGIC = b"SQLite format 3\0"
_WAIT_SECONDS = 25
_EXPANSIONS = 50
# So many tasks with the words are looked at to count those that fulfil other conditions as well:
# each is a row to read, and not only an index.
_WORDED = 4_000
# So many texts are read in list order, in growing steps, before FTS5 is asked for all matches.
# First stands how many matches are sooner listed than the step's texts are read.
_STEPS = ((10_000, 100), (0, 400), (60_000, 1_600))

# What is new may stand at the end of every list, where a walk comes last: more of it is fetched.
_CREATED = "SELECT number FROM tasks WHERE created_at > ?"
_NEW = 10_000

_Identity = tuple[int, int]
_Connection = TypeVar("_Connection", bound=sqlite3.Connection)

_SCHEMA = (
    TABLES.format(text="TEXT").replace("BIGINT NOT NULL PRIMARY KEY", "INTEGER PRIMARY KEY")
    + """
CREATE VIRTUAL TABLE words USING fts5 (folded, tokenize = 'ascii', detail = none, columnsize = 0);
INSERT INTO words (words, rank) VALUES ('automerge', 0), ('crisismerge', 64);
CREATE TABLE vocabulary (word TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
"""
)


class SqliteFile:
    """A plan in one SQLite file. Writers wait for each other; readers wait for nobody."""

    kind = "sqlite"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._one_writer = threading.Lock()
        self._closed = False
        self._file: _Identity | None = None

    def open(self) -> "SqliteFile":
        """Connect; make the file where there is none, and upgrade an older one after a copy."""
        if not os.path.lexists(self._path):
            _make(self._path)
        _refuse_other_files(self._path)
        with self._connection() as connection:
            _prepare(connection, self._path)
        self._file = _identity(self._path)
        return self

    @contextmanager
    def read(self, guard: Guard = no_guard) -> Iterator[SqlView]:
        with self._connection() as connection, _stoppable(connection, guard):
            connection.execute("BEGIN")
            try:
                yield SqliteView(connection)
            finally:
                connection.rollback()

    @contextmanager
    def write(self, guard: Guard = no_guard) -> Iterator[SqlView]:
        if not self._one_writer.acquire(timeout=_WAIT_SECONDS):
            raise _busy(self._path)
        try:
            with self._connection() as connection, _stoppable(connection, guard):
                _begin(connection, self._path)
                try:
                    yield SqliteView(connection)
                    guard()
                    connection.commit()
                finally:
                    connection.rollback()
        finally:
            self._one_writer.release()

    def tidy(self, *, is_pause: bool = True) -> None:
        """Merge a little of the index of words, and copy the log's pages into the file, so that
        no writer has to do either at once; readers go on. Between two writes it is very little."""
        pages = _MERGED_PAGES if is_pause else _MERGED_MEANWHILE
        with self.write() as view:
            view.rows_of("INSERT INTO words (words, rank) VALUES ('merge', ?)", (pages,))
        log = self._path.with_name(self._path.name + "-wal")
        if is_pause or (log.exists() and log.stat().st_size > _LONG_LOG):
            with self._connection() as connection:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def check(self) -> list[str]:
        """Say what SQLite finds damaged in its pages, tables, indexes and words."""
        with self._connection() as connection:
            found = [row[0] for row in connection.execute("PRAGMA integrity_check(100)")]
            if found == ["ok"]:
                found = []
            if not isinstance(connection, _AtRest):
                connection.execute("INSERT INTO words (words) VALUES ('integrity-check')")
        return found

    def close(self) -> None:
        with self._lock:
            self._closed = True
            while self._idle:
                self._idle.pop().close()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            file = _identity(self._path)
            is_other = file != self._file
            if is_other:
                self._let_go(file)
            connection = self._idle.pop() if self._idle else None
        try:
            if connection is None:
                connection = _opened(self._path)
            if is_other:
                _refuse_other_files(self._path)
                _prepare(connection, self._path)
                self._file = file
            yield connection
            if isinstance(connection, _AtRest):
                connection.refuse_changes(self._path)
        except sqlite3.DatabaseError as error:
            # A connection that met trouble is not used again.
            if connection:
                connection.close()
            explained = _explained(error, self._path)
            if explained is None:
                raise
            raise explained from error
        except BaseException:
            self._give_back(connection, file)
            raise
        else:
            self._give_back(connection, file)

    def _let_go(self, file: _Identity | None) -> None:
        """Drop the connections to a file that another one, or none, has replaced: what is written
        to it would be lost."""
        if file is None:
            raise UnavailableError(
                f"{self._path} is gone.",
                reason="store_unusable",
                suggestions=["Put it back, or begin a new plan with: tasky project init"],
            )
        while self._idle:
            self._idle.pop().close()

    def _give_back(self, connection: sqlite3.Connection | None, file: _Identity | None) -> None:
        if connection is None:
            return
        is_kept = not isinstance(connection, _AtRest)
        with self._lock:
            if is_kept and not self._closed and file == self._file:
                self._idle.append(connection)
                return
        connection.close()


class SqliteView(SqlView):
    by_number = "tasks NOT INDEXED"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()

    def run(self, sql: str, many: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(sql, many)

    def among(self, values: Collection[Any]) -> tuple[str, Any]:
        return "IN (SELECT value FROM json_each(?))", json.dumps(list(values))

    def each(self, values: Collection[Any]) -> tuple[str, Any]:
        return "json_each(?) AS one", json.dumps(list(values))

    # FTS5 writes a segment whenever a row's number is not above the one before: rows come sorted.

    def put_words(self, rows: list[tuple[int, str]]) -> None:
        self.run("INSERT INTO words (rowid, folded) VALUES (?, ?)", rows)
        self._learn({word for _, text in rows for word in text.split() if word[0] != "·"})

    def replace_words(self, rows: list[tuple[int, str]], met: set[str]) -> None:
        changed = [(text, number) for number, text in rows]
        self.run("UPDATE words SET folded = ? WHERE rowid = ?", changed)
        self._learn(met)

    def _learn(self, met: set[str]) -> None:
        self.run("INSERT OR IGNORE INTO vocabulary VALUES (?)", [(word,) for word in sorted(met)])

    def drop_words(self, numbers: list[int]) -> None:
        self.run("DELETE FROM words WHERE rowid = ?", [(number,) for number in numbers])

    def search(self, wanted: Wanted, after: str, limit: int, count: bool) -> Found:
        few = self._few(wanted)
        if few is not None:
            return self.from_few(few, wanted, self._conditions(wanted), after, limit)
        total, is_part = self._total(wanted) if count else (0, False)
        near = self._near(wanted, after, limit) if wanted.words else None
        if near is not None:
            return self.found(self.summaries(near, wanted), total, wanted, is_part=is_part)
        where = self._conditions(wanted)
        found = self.rows(
            f"SELECT number FROM {_walk(wanted)} WHERE {where} AND sort_key > ? "
            "ORDER BY sort_key LIMIT ?",
            (*where.values, after, limit + 1),
        )
        rows = self.summaries([row[0] for row in found], wanted)
        return self.found(rows, total, wanted, is_part=is_part)

    def unblocking(self, wanted: Wanted) -> tuple[str, Where]:
        where = self._conditions(wanted)
        few = self._few(wanted)
        if few is None:
            return "tasks INDEXED BY tasks_unblocking", where
        clause, value = self.among(few)
        where.need(f"number {clause}", value)
        return "tasks", where

    def _near(self, wanted: Wanted, after: str, limit: int) -> list[int] | None:
        """Return the page if it can be filled soon by reading the texts of tasks in list order.

        Words that many tasks have are found so at once, where FTS5 would first list all of them.
        What fewer have is in few of the texts: a walk in list order past the listed matches is
        sooner done, as it meets no text.
        """
        where = self._conditions(replace(wanted, words=()))
        page: list[int] = []
        for listed, chunk in _STEPS:
            if listed and not self._has_more(wanted, listed):
                return None
            rows = self.rows(
                f"SELECT number, sort_key FROM {_walk(wanted)} WHERE {where} AND sort_key > ? "
                "ORDER BY sort_key LIMIT ?",
                (*where.values, after, chunk),
            )
            clause, value = self.among([number for number, _ in rows])
            texts = dict(
                self.rows(f"SELECT rowid, folded FROM words WHERE rowid {clause}", (value,))
            )
            page += [number for number, _ in rows if says(texts[number], wanted.words)]
            if len(page) > limit or len(rows) < chunk:
                return page[: limit + 1]
            after = rows[-1][1]
        return None

    def _has_more(self, wanted: Wanted, count: int) -> bool:
        """Whether more tasks than this have the words."""
        sql = "SELECT 1 FROM words WHERE words MATCH ? LIMIT 1 OFFSET ?"
        return bool(self.rows(sql, (self._match(wanted), count)))

    def _total(self, wanted: Wanted) -> tuple[int, bool]:
        """Return how many match, and whether that is of those that were looked at alone."""
        if wanted.only_status:
            return self.counted(wanted.status), False
        if wanted == wanted.only(words=wanted.words, status=wanted.status):
            inner = "SELECT 1 FROM words WHERE words MATCH ?"
            return self.count(inner, [self._match(wanted)]), False
        if wanted.words:
            return self._total_of_words(wanted)
        # What the index of the walk has is asked of it; the rest, of the first tasks that it gives.
        apart = replace(wanted, tags=(), due_until=None, created_after=None)
        walked = self._conditions(apart)
        if apart == wanted:
            return self.count(f"SELECT 1 FROM {_walk(wanted)} WHERE {walked}", walked.values), False
        rest = wanted.only(
            tags=wanted.tags, due_until=wanted.due_until, created_after=wanted.created_after
        )
        where = self._conditions(rest)
        walk = (
            f"SELECT number, sort_key FROM {_walk(wanted)} WHERE {walked} "
            f"ORDER BY sort_key LIMIT {EXAMINED + 1}"
        )
        ((looked_at,),) = self.rows(f"SELECT count(*) FROM ({walk})", walked.values)
        sql = f"SELECT count(*) FROM ({walk}) AS tasks WHERE {where}"
        ((total,),) = self.rows(sql, (*walked.values, *where.values))
        return int(total), looked_at > EXAMINED

    def _total_of_words(self, wanted: Wanted) -> tuple[int, bool]:
        """Count among the first tasks that have the words."""
        sql = f"SELECT rowid FROM words WHERE words MATCH ? LIMIT {_WORDED + 1}"
        numbers = [row[0] for row in self.rows(sql, (self._match(wanted),))]
        where = self._conditions(replace(wanted, words=()))
        clause, value = self.among(numbers[:_WORDED])
        sql = f"SELECT count(*) FROM {self.by_number} WHERE number {clause} AND {where}"
        ((total,),) = self.rows(sql, (value, *where.values))
        return int(total), len(numbers) > _WORDED

    def _few(self, wanted: Wanted) -> list[int] | None:
        """Return the numbers that one of the conditions leaves, when they are few."""
        probes: list[tuple[str, Any]] = []
        if wanted.claimed_by is not None or wanted.held_by is not None or wanted.held:
            probes.append(("SELECT number FROM tasks WHERE claimed_until > ?", wanted.now))
        if wanted.words:
            probes.append(("SELECT rowid FROM words WHERE words MATCH ?", self._match(wanted)))
        probes += [("SELECT number FROM tagged WHERE tag = ?", tag) for tag in wanted.tags]
        if wanted.created_after:
            probes.append((_CREATED, wanted.created_after))
        if wanted.due_until:
            probes.append(("SELECT number FROM tasks WHERE due_at <= ?", wanted.due_until))
        for sql, value in probes:
            few = _NEW if sql == _CREATED else FEW
            found = self.rows(f"{sql} LIMIT {few + 1}", (value,))
            if len(found) <= few:
                return [row[0] for row in found]
        return None

    def _conditions(self, wanted: Wanted) -> Where:
        """Return the WHERE clause; what it needs stands in the index of the walk (see sort_key)."""
        where = common_conditions(wanted, "+number")
        if wanted.priority:
            level = str(5 - wanted.priority)
            where.need("sort_key >= ? AND sort_key < ?", level, level + "~")
        if wanted.due_until:
            where.need("substr(sort_key, 2, 20) <= ?", wanted.due_until)
        if wanted.created_after:
            where.need("substr(sort_key, 22, 27) > ?", wanted.created_after)
        if wanted.words:
            match = self._match(wanted)
            where.need("+number IN (SELECT rowid FROM words WHERE words MATCH ?)", match)
        return where

    def _match(self, wanted: Wanted) -> str:
        """Return the FTS5 expression: the status, and every word as the beginning of a word.

        A prefix is spelt out as the known words that begin so, because FTS5 merges the lists of a
        true prefix before it answers anything; only where they are many it is left to FTS5.
        """
        status = [f'"{status_word(wanted.status)}"'] if wanted.status else []
        return " AND ".join([*status, *(self._one_of(word) for word in wanted.words)])

    def _one_of(self, word: str) -> str:
        if len(word) < SHORTEST_PREFIX:
            return f'"{word}"'
        known = self.rows(
            "SELECT word FROM vocabulary WHERE word >= ? AND word < ? LIMIT ?",
            (word, word + "\U0010ffff", _EXPANSIONS + 1),
        )
        if len(known) > _EXPANSIONS:
            return f'"{word}" *'
        spelt = " OR ".join(f'"{row[0]}"' for row in known) or f'"{word}"'
        return f"({spelt})"


def _make(path: Path) -> None:
    """Make a plan beside its place and put it there whole, unless another process was sooner: an
    empty file is damage, and never a plan that somebody begins."""
    new = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with closing(_connect(new, sqlite3.Connection)) as connection:
            _prepare(connection, new)
        try:
            os.link(new, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            if not path.exists():
                new.rename(path)
    except (OSError, sqlite3.DatabaseError) as error:
        explained = _explained(error, path) if isinstance(error, sqlite3.DatabaseError) else None
        if explained is None:
            reason = getattr(error, "strerror", None) or str(error)
            explained = UnavailableError(
                f"{path} cannot be used: {reason}.", reason="store_unusable"
            )
        raise explained from error
    finally:
        for left in new.parent.glob(f"{new.name}*"):
            left.unlink(missing_ok=True)


def _identity(path: Path) -> _Identity | None:
    """Return what tells the file at this path from one that was put in its place."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnavailableError(
            f"{path} cannot be used: {error.strerror}.", reason="store_unusable"
        ) from error
    if found.st_size == 0:
        raise _corrupt(path)
    return found.st_dev, found.st_ino


def _refuse_other_files(path: Path) -> None:
    """Raise for a file of another kind; SQLite itself takes a very short one for a new database."""
    try:
        with path.open("rb") as file:
            head = file.read(len(_MAGIC))
    except FileNotFoundError:
        return
    except OSError as error:
        raise UnavailableError(
            f"{path} cannot be used: {error.strerror}.", reason="store_unusable"
        ) from error
    if head != _MAGIC:
        raise _corrupt(path)


def _corrupt(path: Path) -> UnavailableError:
    return UnavailableError(
        f"{path} is not an intact SQLite plan; it was left as it is.",
        reason="corrupt_store",
        suggestions=["Put a backup in its place, or move it away and run: tasky project init"],
    )


def _walk(wanted: Wanted) -> str:
    """Return the table with the index to walk; without statistics SQLite prefers a wider one."""
    return "tasks INDEXED BY tasks_ready" if wanted.ready_for is not None else "tasks"


class _AtRest(sqlite3.Connection):
    """A connection to a file that is taken to stay as it is. It serves one call, at whose end the
    file is looked at again."""

    state: tuple[int, ...]

    def refuse_changes(self, path: Path) -> None:
        if _state(path) != self.state:
            raise BusyError(
                f"{path.name} was changed while it was read.",
                reason="store_busy",
                suggestions=["Try again."],
            )


def _state(path: Path) -> tuple[int, ...]:
    """Return what differs once somebody wrote: file, size, time, and whether a log stands open."""
    log = path.with_name(path.name + "-wal")
    try:
        found = path.stat()
        has_log = log.exists() and log.stat().st_size > 0
    except OSError as error:
        raise UnavailableError(
            f"{path} cannot be used: {error.strerror}.", reason="store_unusable"
        ) from error
    return found.st_ino, found.st_size, found.st_mtime_ns, has_log


def _opened(path: Path) -> sqlite3.Connection:
    """Connect; where this user may put no log beside the file, and there is none, only to read."""
    try:
        return _connect(path, sqlite3.Connection)
    except sqlite3.OperationalError:
        if os.access(path.parent, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            raise
        state = _state(path)
        if state[-1]:
            raise  # what stands in the log was confirmed, and would be missed
    connection = _connect(path, _AtRest, "?immutable=1")
    connection.state = state
    return connection


def _connect(path: Path, kind: type[_Connection], options: str = "") -> _Connection:
    # Autocommit: transactions begin and end where this file says so. A connection serves one
    # thread at a time, not always the same one.
    connection = sqlite3.connect(
        path.absolute().as_uri() + options,
        uri=True,
        timeout=_WAIT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        factory=kind,
    )
    try:
        # The first of these opens the file and its log.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -32000")
        connection.execute("PRAGMA mmap_size = 268435456")
        # Copying pages back is left to `tidy`; only past 64 megabytes of log a writer does it.
        connection.execute("PRAGMA wal_autocheckpoint = 16000")
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == VERSION:
        return
    if version > VERSION:
        raise UnavailableError(
            f"{path} was written by a newer Tasky (format {version}; this one reads {VERSION}).",
            reason="newer_store",
            suggestions=["Upgrade mcp-host-tasky."],
        )
    refuse_foreign(connection, path)
    connection.execute("PRAGMA journal_mode = WAL")
    _begin(connection, path)
    try:
        # Another process may have made or upgraded it while this one waited.
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found in (2, 3):
            Backup(path, str(found)).copy_database()
            steps = (TO_FORMAT_3, TO_FORMAT_4)[found - 2 :]
            for statement in _statements("".join(steps).format(text="TEXT")):
                connection.execute(statement)
            hold_up_all(SqliteView(connection))
        elif found < VERSION:
            upgrade_sqlite(connection, path, _statements(_SCHEMA), SqliteView(connection))
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.commit()
    finally:
        connection.rollback()


def _statements(script: str) -> list[str]:
    # Not executescript: it would commit, and the schema must come whole or not at all.
    return [statement for statement in script.split(";\n") if statement.strip()]


def _begin(connection: sqlite3.Connection, path: Path) -> None:
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise _busy(path) from error
        raise


@contextmanager
def _stoppable(connection: sqlite3.Connection, guard: Guard) -> Iterator[None]:
    """Let the guard's refusal interrupt a long statement, and raise it instead of SQLite's word."""
    if guard is no_guard:
        yield
        return
    refusals: list[Exception] = []
    connection.set_progress_handler(_asking(guard, refusals), 50_000)
    try:
        yield
    except sqlite3.OperationalError:
        if refusals:
            raise refusals[0] from None
        raise
    finally:
        with suppress(sqlite3.ProgrammingError):
            connection.set_progress_handler(None, 0)


def _asking(guard: Guard, refusals: list[Exception]) -> Callable[[], int]:
    def ask() -> int:
        try:
            guard()
        except Exception as refusal:
            refusals.append(refusal)
            return 1
        return 0

    return ask


def _busy(path: Path) -> BusyError:
    return BusyError(
        f"Another process has been writing to {path.name} for {_WAIT_SECONDS} seconds.",
        reason="store_busy",
        suggestions=["Try again."],
    )


def _explained(error: sqlite3.DatabaseError, path: Path) -> TaskyError | None:
    text = str(error)
    if "not a database" in text or "malformed" in text:
        return _corrupt(path)
    if "readonly" in text:
        return read_only(path, text)
    if "unable to open" in text or "disk is full" in text:
        hint = "Check the file's and the folder's permissions: SQLite writes there even to read."
        return UnavailableError(
            f"{path} cannot be used: {text}.",
            reason="store_unusable",
            suggestions=[] if "disk is full" in text else [hint],
        )
    if "locked" in text:
        return _busy(path)
    if "disk I/O error" in text or "locking protocol" in text:
        return UnavailableError(
            f"{path} cannot be used: {text}. The disk failed, or its file system has no locks.",
            reason="store_unusable",
            suggestions=["Keep the plan on a local disk: tasky migrate, or another storage.path."],
        )
    return None
