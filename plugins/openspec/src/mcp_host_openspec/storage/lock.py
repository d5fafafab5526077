"""The lock of a tree's archive: the reference tool's own file, so that both never run at once."""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..errors import LockedError
from .files import exists
from .writes import write_synced

NAME: Final = ".openspec-archive.lock"
_UNREADABLE_IS_STALE_AFTER: Final = 60.0
_CLOCK_SLACK: Final = 2.0


@contextlib.contextmanager
def archive_lock(archive: Path) -> Iterator[None]:
    """Hold the lock; LockedError where another archive holds it.

    A lock whose process is dead on this machine is taken over. One without a host name, as the
    reference tool writes it, counts as written on this machine.
    """
    archive.mkdir(parents=True, exist_ok=True)
    path = archive / NAME
    contents = json.dumps(
        {"pid": os.getpid(), "nonce": os.urandom(16).hex(), "host": _host()}
    ).encode()
    with _one_at_a_time(archive):
        _clear_leftovers(archive)
        if exists(path) and _is_stale(path):
            path.unlink(missing_ok=True)
        _create(path, contents)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if path.read_bytes() == contents:
                path.unlink()


def is_held(archive: Path) -> bool:
    """Whether a living process holds the lock."""
    path = archive / NAME
    return exists(path) and not _is_stale(path)


def _create(path: Path, contents: bytes) -> None:
    """Make the lock with its content in one step, so that nobody ever sees it empty."""
    draft = path.with_name(f"{NAME}.{os.urandom(16).hex()}")
    write_synced(draft, contents)
    try:
        os.link(draft, path)  # unlike a rename, this fails where the lock exists
    except FileExistsError:
        raise _locked(path) from None
    except OSError:
        # No hard links here: the file appears empty for a moment, as the reference tool's does.
        try:
            write_synced(path, contents)
        except FileExistsError:
            raise _locked(path) from None
    finally:
        draft.unlink(missing_ok=True)


def _locked(path: Path) -> LockedError:
    holder = _read(path)
    who = f" by process {holder['pid']}" if holder else ""
    return LockedError(
        f"Another archive is running{who}.",
        suggestions=[f"Wait for it. If no archive is running anywhere, remove {path}."],
        path=str(path),
    )


def _read(path: Path) -> dict[str, object] | None:
    """What the lock says; None where that is not what a lock says."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("pid"), int) else None


def _is_stale(path: Path) -> bool:
    try:
        written = path.stat().st_mtime
    except FileNotFoundError:
        return False
    holder = _read(path)
    if holder is None:
        return time.time() - written > _UNREADABLE_IS_STALE_AFTER
    if holder.get("host", _host()) != _host():
        return False
    pid = holder["pid"]
    assert isinstance(pid, int)
    if not _is_alive(pid):
        return True
    started = _started(pid)
    return started is not None and started > written + _CLOCK_SLACK


def _host() -> str:
    if hasattr(os, "uname"):
        return os.uname().nodename
    import socket  # Windows; only here, because commands that read would pay for it

    return socket.gethostname()


def _is_alive(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _started(pid: int) -> float | None:
    """When a process began, in seconds since 1970; None where the system does not tell.

    A process younger than a lock did not write it: its number was given out again.
    """
    try:
        ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
        boot = Path("/proc/stat").read_text().partition("btime ")[2].split()[0]
        return int(boot) + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return None


@contextlib.contextmanager
def _one_at_a_time(archive: Path) -> Iterator[None]:
    """Keep our own processes apart while they look at the lock and take it."""
    try:
        import fcntl
    except ImportError:  # Windows: the lock file alone decides
        yield
        return
    descriptor = os.open(archive, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _clear_leftovers(archive: Path) -> None:
    """Remove drafts of locks; only a killed process leaves one, since we are alone here."""
    for draft in archive.glob(f"{NAME}.*"):
        draft.unlink(missing_ok=True)
