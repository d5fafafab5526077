"""Files, read and parsed once and again only when they change."""

import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, cast

from ..errors import BadFileError, TooLargeError

T = TypeVar("T")


def exists(path: Path) -> bool:
    """Whether there is anything; False where one may not even look, unlike `Path.exists`."""
    return os.path.exists(path)  # noqa: PTH110 (see above)


def is_folder(path: Path) -> bool:
    """Whether there is a folder; False where one may not even look."""
    return os.path.isdir(path)  # noqa: PTH112 (see above)


def is_file(path: Path) -> bool:
    """Whether there is a file; False where one may not even look."""
    return os.path.isfile(path)  # noqa: PTH113 (see above)


_SECOND_NS: Final = 1_000_000_000
_TICK_NS: Final = 100_000_000


def is_settled(status: os.stat_result, now_ns: int) -> bool:
    """Whether another write would show in the file's time stamps.

    One written just now may change again within the same tick of the file system's clock. That is
    some milliseconds, or two seconds where time stamps are whole seconds.
    """
    newest = max(status.st_mtime_ns, status.st_ctime_ns)
    return now_ns - newest > (_TICK_NS if newest % _SECOND_NS else 2 * _SECOND_NS)


class Identity(NamedTuple):
    """What tells one state of a file from another without reading it."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Identity":
        """The identity a stat result gives."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


class _Entry(NamedTuple):
    identity: Identity
    data: bytes
    document: object
    racy: bool


class Files:
    """Reads files and keeps what was parsed until the file is another.

    A parsed document is the same object for as long as the file is the same, so that what was
    worked out from it can be kept beside it.
    """

    def __init__(self, max_bytes: int = 16 * 1024 * 1024) -> None:
        self.max_bytes = max_bytes
        self._entries: dict[tuple[str, Callable[[bytes], object]], _Entry] = {}
        self._lock = threading.Lock()

    def read(self, path: str | Path) -> bytes:
        """The bytes of a regular file; OSError where there is none, BadFileError for any other."""
        self._check(path, os.stat(path))  # noqa: PTH116 (hot path: a Path costs as much)
        with open(path, "rb") as file:  # noqa: PTH123 (hot path)
            return file.read()

    def document(self, path: str | Path, parse: Callable[[bytes], T]) -> T:
        """The parsed file: from memory when the file has not changed."""
        key = (str(path), cast(Callable[[bytes], object], parse))
        status = os.stat(path)  # noqa: PTH116 (hot path)
        identity = Identity.of(status)
        known = self._entries.get(key)
        if known is not None and known.identity == identity and not known.racy:
            return cast(T, known.document)
        self._check(path, status)  # before opening: opening a pipe would wait for its other end
        with open(path, "rb") as file:  # noqa: PTH123 (hot path)
            status = os.fstat(file.fileno())
            data = file.read()
        racy = not is_settled(status, time.time_ns())
        document: Any = known.document if known and known.data == data else parse(data)
        with self._lock:
            self._entries[key] = _Entry(Identity.of(status), data, document, racy)
        return cast(T, document)

    def forget_below(self, folder: Path) -> None:
        """Drop what was read from a folder that is there no more."""
        begin = f"{folder}{os.sep}"
        with self._lock:
            for key in [key for key in self._entries if key[0].startswith(begin)]:
                del self._entries[key]

    def _check(self, path: str | Path, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise BadFileError(Path(path), "this is not a regular file")
        if status.st_size > self.max_bytes:
            raise TooLargeError(Path(path), status.st_size, self.max_bytes)
