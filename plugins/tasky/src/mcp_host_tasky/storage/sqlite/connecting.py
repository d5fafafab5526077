"""Connections to a SQLite file: which file it is, whether it may be written, how a call stops."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from ...errors import BusyError, UnavailableError
from ..store import Guard, no_guard
from .trouble import WAIT_SECONDS, busy, corrupt, is_full

Identity = tuple[int, int]
_Connection = TypeVar("_Connection", bound=sqlite3.Connection)
_BRIEFLY_MS = 250
_MAPPED = 0x7FFF0000
"""So much of a file is read as memory, without a call to the system: the most that SQLite maps."""
_SHORTEST = 512  # bytes: one page of the smallest size


def identity(path: Path) -> Identity | None:
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
        raise corrupt(path)
    return found.st_dev, found.st_ino


def refuse_other_files(path: Path) -> None:
    """Raise for a file that is too short for a database: SQLite would take it for a new one, and
    tells by itself what else is none. The file is not opened: to close it would free the locks of
    other connections of this process."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return
    except OSError as error:
        raise UnavailableError(
            f"{path} cannot be used: {error.strerror}.", reason="store_unusable"
        ) from error
    if size < _SHORTEST:
        raise corrupt(path)


def is_cut(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether a file ends within a page, which SQLite would read and write on. While there is a
    log, its pages are on their way into the file, or are finished from there."""
    ((page,),) = connection.execute("PRAGMA page_size").fetchall()
    return not _has_log(path) and path.stat().st_size % page != 0 and not _has_log(path)


class AtRest(sqlite3.Connection):
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
    try:
        found = path.stat()
        has_log = _has_log(path)
    except OSError as error:
        raise UnavailableError(
            f"{path} cannot be used: {error.strerror}.", reason="store_unusable"
        ) from error
    return found.st_ino, found.st_size, found.st_mtime_ns, has_log


def _has_log(path: Path) -> bool:
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def opened(path: Path) -> sqlite3.Connection:
    """Connect; only to read where there is no log and none can be made, by this user in that
    folder or on a full disk."""
    try:
        return connect(path, sqlite3.Connection)
    except sqlite3.OperationalError:
        is_ours = os.access(
            path.parent, os.W_OK, effective_ids=os.access in os.supports_effective_ids
        )
        if is_ours and not is_full(path):
            raise
        state = _state(path)
        if state[-1]:
            raise  # what stands in the log was confirmed, and would be missed
    connection = connect(path, AtRest, "?immutable=1")
    connection.state = state
    return connection


def connect(path: Path, kind: type[_Connection], options: str = "") -> _Connection:
    """Connect with the settings that every connection has; the caller closes it."""
    # Autocommit: transactions begin and end where this file says so. A connection serves one
    # thread at a time, not always the same one.
    connection = sqlite3.connect(
        path.absolute().as_uri() + options,
        uri=True,
        timeout=WAIT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        factory=kind,
    )
    try:
        # The first of these opens the file and its log.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -32000")
        connection.execute(f"PRAGMA mmap_size = {_MAPPED}")
        # Copying pages back is left to `tidy`, which keeps writers out meanwhile.
        connection.execute("PRAGMA wal_autocheckpoint = 0")
    except BaseException:
        connection.close()
        raise
    return connection


def begin(
    connection: sqlite3.Connection,
    path: Path,
    guard: Guard = no_guard,
    wait: float = WAIT_SECONDS,
) -> None:
    """Begin to write; `BusyError` where another process has been writing for so many seconds."""
    # SQLite itself waits in C, where no signal and no guard reaches it: so it waits briefly, often.
    end = time.monotonic() + wait
    connection.execute(f"PRAGMA busy_timeout = {_BRIEFLY_MS}")
    try:
        while not _begun(connection):
            guard()
            if time.monotonic() > end:
                raise busy(path)
    finally:
        connection.execute(f"PRAGMA busy_timeout = {WAIT_SECONDS * 1000}")


def _begun(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            return False
        raise
    return True


@contextmanager
def stoppable(connection: sqlite3.Connection, guard: Guard) -> Iterator[None]:
    """Let the guard's refusal interrupt a long statement, and raise it instead of SQLite's word."""
    if guard is no_guard:
        yield
        return
    refusals: list[BaseException] = []
    connection.set_progress_handler(_asking(guard, refusals), 50_000)
    try:
        yield
    except sqlite3.OperationalError as error:
        if refusals:
            raise refusals[0] from None
        if str(error) == "interrupted":  # Ctrl-C came as the guard was about to be asked
            raise KeyboardInterrupt from None
        raise
    finally:
        with suppress(sqlite3.ProgrammingError):
            connection.set_progress_handler(None, 0)


def _asking(guard: Guard, refusals: list[BaseException]) -> Callable[[], int]:
    def ask() -> int:
        try:
            guard()
        except BaseException as refusal:  # Ctrl-C among them
            refusals.append(refusal)
            return 1
        return 0

    return ask
