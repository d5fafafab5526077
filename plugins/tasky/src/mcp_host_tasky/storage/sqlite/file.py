"""The SQLite store: one file in WAL mode and a few connections."""

import os
import sqlite3
import struct
import threading
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from ...errors import BusyError, StoppedError, TaskyError, UnavailableError
from ..sql import Drawings, KeptTexts, SqlView, damaged_rows, make_part, miscounted, misdrawn
from ..store import WRITES_TOGETHER, Guard, no_guard
from . import by_bitmaps
from .connecting import (
    AtRest,
    Identity,
    begin,
    connect,
    identity,
    is_cut,
    opened,
    refuse_other_files,
    stoppable,
)
from .preparing import make, prepare
from .trouble import WAIT_SECONDS, busy, corrupt, explained, is_damage
from .view import SqliteView

MERGED_PAGES = 200
"""So much of the index of words is merged when nobody writes, in pages."""
MERGED_MEANWHILE = 32
"""So much of it is merged for each write that others follow closely."""
LONG_LOG = 16_000
"""From so many pages of log on, they are copied into the file among writes as well."""
LONGEST_LOG = 32_000
"""From so many pages of log on, a writer copies them whom nobody tidies up after."""
_LOG_HEAD, _FRAME_HEAD = 32, 24


def _heed() -> None:
    """Do nothing, so that Python may hear of Ctrl-C while a long statement runs."""


class SqliteFile:
    """A plan in one SQLite file. Writers wait for each other; readers wait for nobody."""

    kind = "sqlite"

    def __init__(self, path: Path, *, is_cut_too: bool = False) -> None:
        self._path = path
        self._is_cut_too = is_cut_too
        """Whether a file that was cut short is read, to copy what is left."""
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._one_writer = threading.Lock()
        self._closed = False
        self._file: Identity | None = None
        self._untidy = 0
        """How many writes followed the last merge."""
        self._drawings = Drawings()
        self._texts = KeptTexts()

    def open(self) -> "SqliteFile":
        """Connect; make the file where there is none, and upgrade an older one after a copy."""
        if not os.path.lexists(self._path):
            make(self._path)
        refuse_other_files(self._path)
        with self._connection() as connection:
            self._prepare(connection)
        self._file = identity(self._path)
        return self

    @contextmanager
    def read(self, guard: Guard = no_guard) -> Iterator[SqlView]:
        with self._connection() as connection, stoppable(connection, guard):
            connection.execute("BEGIN")
            try:
                yield SqliteView(connection, drawings=self._drawings, texts=self._texts)
            finally:
                connection.rollback()

    @contextmanager
    def write(self, guard: Guard = no_guard) -> Iterator[SqliteView]:
        with self._alone(guard) as connection:
            yield SqliteView(connection, guard, self._drawings, self._texts)
            guard()
            connection.commit()
            self._untidy += 1
        if self._untidy >= WRITES_TOGETHER and self._pages_of_log() > LONGEST_LOG:
            # What was written is kept, whatever comes of this; the next write finds it as long.
            with suppress(TaskyError, sqlite3.Error):
                self._copy_log()

    @contextmanager
    def _alone(
        self, guard: Guard = no_guard, wait: float = WAIT_SECONDS
    ) -> Iterator[sqlite3.Connection]:
        """Have a transaction of the only writer, among all processes; it is rolled back at the end.

        Raises `BusyError` where another has been writing for so many seconds.
        """
        if not self._one_writer.acquire(timeout=wait):
            raise busy(self._path)
        try:
            with self._connection() as connection, stoppable(connection, guard):
                begin(connection, self._path, guard, wait)
                try:
                    yield connection
                finally:
                    connection.rollback()
        finally:
            self._one_writer.release()

    def tidy(self, *, is_pause: bool = True) -> bool:
        """Merge a part of the index of words, and copy the log's pages into the file, so that no
        writer has to do either at once; readers go on. Among writes it is done for many at once."""
        try:
            has_merged = False
            if is_pause or self._untidy >= WRITES_TOGETHER:
                has_merged = self._merge(max(MERGED_PAGES, self._untidy * MERGED_MEANWHILE))
            is_made = make_part(self, by_bitmaps.FREQUENT, self._go_on, is_pause=is_pause)
            if is_pause or self._pages_of_log() > LONG_LOG:
                self._copy_log()
        except BusyError:
            return True  # another writes, and is not waited for
        return has_merged or is_made

    def _go_on(self) -> None:
        if self._closed:
            raise StoppedError("The plan is closed.", reason="stopped")

    def _copy_log(self) -> None:
        """Copy the log's pages into the file, by one connection while another keeps writers out.

        Until 3.51.3 SQLite loses pages where a writer begins the log anew in the moment in which it
        is begun to be copied once more (https://sqlite.org/wal.html#walresetbug), as often happens
        to who copies it in each pause.
        """
        with self._alone(wait=0), self._connection() as copying:
            copying.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _pages_of_log(self) -> int:
        """Return how many pages were written since the log was last begun anew. Its size does not
        say: it never gets shorter. Frames that are left from before have another salt. No other
        file of SQLite's may be opened here: to close it would free this process's locks."""
        try:
            with self._path.with_name(self._path.name + "-wal").open("rb") as log:
                head = log.read(_LOG_HEAD)
                (page,) = struct.unpack_from(">I", head, 8)
                frames = (os.fstat(log.fileno()).st_size - _LOG_HEAD) // (_FRAME_HEAD + page)

                def is_old(frame: int) -> bool:
                    log.seek(_LOG_HEAD + frame * (_FRAME_HEAD + page))
                    return log.read(_FRAME_HEAD)[8:16] != head[16:24]

                return bisect_left(range(frames), True, key=is_old)
        except (OSError, struct.error):
            return 0  # nobody wrote

    def _merge(self, pages: int) -> bool:
        """Merge so many pages of the index of words, and return whether there were any."""
        with self._alone(wait=0) as connection:
            has_merged = SqliteView(connection).merge_words(pages)
            connection.commit()
        self._untidy = 0
        return has_merged

    def check(self) -> list[str]:
        """Say what SQLite finds damaged in its pages, tables, indexes and words, and what is
        miscounted."""
        with self._connection() as connection, stoppable(connection, _heed):
            found = [row[0] for row in connection.execute("PRAGMA integrity_check(100)")]
            if found == ["ok"]:
                found = []
            if not isinstance(connection, AtRest):
                connection.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
            view = SqliteView(connection)
            with view.reading_all_texts("surrogateescape"):
                return found or [
                    *miscounted(view),
                    *damaged_rows(view),
                    *view.misplaced(),
                    *misdrawn(view),
                ]

    def copied_whole(self, path: Path) -> bool:
        """Copy the file as it is at one moment, while others write on, and check the copy: damage
        that SQLite does not meet while it copies goes on in it."""
        with self._connection() as connection, stoppable(connection, _heed):
            if is_cut(connection, self._path):
                return False
            try:
                connection.execute("VACUUM INTO ?", (str(path),))
            except sqlite3.DatabaseError as error:
                path.unlink(missing_ok=True)
                if is_damage(error):
                    return False
                if told := explained(error, path):
                    raise told from error
                raise
        with closing(connect(path, sqlite3.Connection)) as copy:
            copy.execute("PRAGMA journal_mode = WAL")
        is_sound = False
        with closing(SqliteFile(path).open()) as checked, suppress(UnavailableError):
            is_sound = not checked.check()
        if not is_sound:
            path.unlink()
        return is_sound

    def close(self) -> None:
        with self._lock:
            self._closed = True
            while self._idle:
                self._idle.pop().close()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            file = identity(self._path)
            is_other = file != self._file
            if is_other:
                self._let_go(file)
            connection = self._idle.pop() if self._idle else None
        try:
            if connection is None:
                connection = opened(self._path)
            if is_other:
                refuse_other_files(self._path)
                self._prepare(connection)
                self._file = file
            yield connection
            if isinstance(connection, AtRest):
                connection.refuse_changes(self._path)
        except sqlite3.DatabaseError as error:
            # A connection that met trouble is not used again.
            if connection:
                connection.close()
            told = explained(error, self._path)
            if told is None:
                raise
            raise told from error
        except BaseException:
            self._give_back(connection, file)
            raise
        else:
            self._give_back(connection, file)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        if not self._is_cut_too and is_cut(connection, self._path):
            raise corrupt(self._path)
        prepare(connection, self._path)

    def _let_go(self, file: Identity | None) -> None:
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

    def _give_back(self, connection: sqlite3.Connection | None, file: Identity | None) -> None:
        if connection is None:
            return
        is_kept = not isinstance(connection, AtRest)
        with self._lock:
            if is_kept and not self._closed and file == self._file:
                self._idle.append(connection)
                return
        connection.close()
