"""Writes that are there wholly or not at all."""

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..errors import CannotWriteError

_REASONS: Final = {
    errno.ENOSPC: ("the disk is full", "Free some space and run it again."),
    errno.EFBIG: ("the file would be larger than the system allows", "Allow larger files."),
    errno.EDQUOT: ("the quota is used up", "Free some space and run it again."),
    errno.EROFS: ("the file system is read-only", "Write to a folder that can be written to."),
    errno.EACCES: ("writing is not permitted", "Check the permissions of the folder."),
    errno.EPERM: ("writing is not permitted", "Check the permissions of the folder."),
}


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn what the system says of a write below `path` into CannotWriteError."""
    try:
        yield
    except OSError as error:
        problem, remedy = _REASONS.get(
            error.errno or 0, (f"cannot be written: {error.strerror or error}", "")
        )
        named = error.filename2 or error.filename or path
        raise CannotWriteError(Path(os.fsdecode(named)), problem, remedy) from error


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file by new content; a crash leaves the old or the new, never a part."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        real = path.resolve()
        beside = real.with_name(f".{real.name}.{os.urandom(16).hex()}.tmp")
        try:
            write_synced(beside, data, mode=mode_of(real))
            os.replace(beside, real)  # noqa: PTH105 (pairs with the os calls around it)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        sync_folder(real.parent)


def write_synced(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write a new file and bring it to the disk; `mode` sets its permissions."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if mode is not None:
        path.chmod(mode)


def mode_of(path: Path) -> int | None:
    """The permissions of a file; None where there is none."""
    try:
        return path.stat().st_mode & 0o7777
    except FileNotFoundError:
        return None


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def digest(data: bytes) -> str:
    """What tells one content from another."""
    return hashlib.sha256(data).hexdigest()


def digest_of(path: Path) -> str | None:
    """The digest of a file; None where there is none."""
    try:
        return digest(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
