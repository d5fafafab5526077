"""The JSON store: one file, read whole, written whole.

A write holds a lock file, writes a new file beside the old one, makes it durable, and puts it in
the old one's place.
"""

import errno
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from ..errors import Busy, Unavailable
from ..model import Task
from .base import Guard, no_guard, read_only
from .json_plan import VERSION, JsonPlan, corrupt, read_plan, upgraded, version_of
from .json_view import JsonView
from .upgrade import Backup

_WAIT_SECONDS = 25
_POLL_SECONDS = 0.003
_HEAD_BYTES = 200
_PROTECTED = (errno.EACCES, errno.EPERM, errno.EROFS)


class JsonFile:
    """A plan in one JSON file. Writers take turns by a lock file; readers wait for nobody."""

    kind = "json"

    def __init__(self, path: Path) -> None:
        # A link is followed: it is the file behind it that is put in place.
        self._path = path = path.resolve()
        self._words: dict[str, tuple[Task, str]] = {}
        self._one_writer = threading.Lock()
        self._file_lock = FileLock(path.with_name(path.name + ".lock"), thread_local=False)
        # One value, so that threads that read at once never mix a plan with another's signature.
        self._state = (JsonPlan(), b"")
        if self._is_ready():
            self._current()
        else:
            with self._alone():
                self._prepare()

    @contextmanager
    def read(self, guard: Guard = no_guard) -> Iterator[JsonView]:
        yield JsonView(self._current(), self._words, guard)

    @contextmanager
    def write(self, guard: Guard = no_guard) -> Iterator[JsonView]:
        with self._alone():
            view = JsonView(self._current().copy(), self._words, guard)
            yield view
            guard()
            if view.changed:
                self._save(view.plan)

    def tidy(self) -> None:
        """Every write leaves the file tidy."""

    def close(self) -> None:
        """Nothing is held between calls."""

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._one_writer.acquire(timeout=_WAIT_SECONDS):
            raise _busy(self._path)
        try:
            try:
                self._file_lock.acquire(timeout=_WAIT_SECONDS, poll_interval=_POLL_SECONDS)
            except Timeout as error:
                raise _busy(self._path) from error
            except OSError as error:
                if error.errno in _PROTECTED and self._path.exists():
                    raise read_only(self._path, str(error.strerror)) from error
                raise _unusable(self._path, error) from error
            try:
                yield
            finally:
                self._file_lock.release()
        finally:
            self._one_writer.release()

    def _is_ready(self) -> bool:
        """Whether the file can be read as it is: by somebody, perhaps, who may not write it."""
        try:
            return self._path.stat().st_size > 0 and version_of(self._path) == VERSION
        except OSError:
            return False  # missing, or to be told of by who prepares it

    def _prepare(self) -> None:
        if not self._path.exists() or self._path.stat().st_size == 0:
            self._save(JsonPlan())
        elif version_of(self._path) == "1.0":
            Backup(self._path, "1.0").copy()
            self._save(upgraded(self._path))
        else:
            self._current()

    def _current(self) -> JsonPlan:
        """Return the plan as the file holds it now."""
        try:
            with self._path.open("rb") as file:
                known, seen = self._state
                now = _signature(file)
                if now != seen:
                    known = read_plan(file.read().decode(), known, self._path)
                    self._state = (known, now)
                return known
        except OSError as error:
            raise _unusable(self._path, error) from error
        except UnicodeDecodeError as error:
            raise corrupt(self._path, "it is not UTF-8") from error

    def _save(self, plan: JsonPlan) -> None:
        plan.generation += 1
        temporary = self._path.with_name(self._path.name + ".tmp")
        try:
            with temporary.open("wb") as file:
                file.write(plan.text().encode())
                file.flush()
                os.fsync(file.fileno())
            if self._path.exists():
                shutil.copymode(self._path, temporary)
            temporary.replace(self._path)
            _sync_folder(self._path.parent)
        except OSError as error:
            raise _unusable(self._path, error) from error
        with self._path.open("rb") as file:
            self._state = (plan, _signature(file))


def _signature(file: BinaryIO) -> bytes:
    """Return what tells one state of the file from another, and rewind.

    The head holds the generation, which every write raises: inode, size and time alone may repeat
    within one tick of the clock. They see what an editor changes.
    """
    head = file.read(_HEAD_BYTES)
    file.seek(0)
    state = os.fstat(file.fileno())
    return head + f"|{state.st_ino}|{state.st_size}|{state.st_mtime_ns}".encode()


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows has no handle of a folder to make durable
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _busy(path: Path) -> Busy:
    return Busy(
        f"Another process has been writing to {path.name} for {_WAIT_SECONDS} seconds.",
        reason="store_busy",
        suggestions=["Try again."],
    )


def _unusable(path: Path, error: OSError) -> Unavailable:
    return Unavailable(f"{path} cannot be used: {error.strerror}.", reason="store_unusable")
