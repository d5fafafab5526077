"""What can be wrong with a SQLite file, told in the pack's words."""

import shutil
import sqlite3
from pathlib import Path

from ...errors import BusyError, TaskyError, UnavailableError
from ..store import contradictory, read_only

_DAMAGED = ("not a database", "malformed", "fts5", "Could not decode")
_ROOM = 65_536
_WHERE_FULL = ("readonly", "disk I/O error", "unable to open", "disk is full")
WAIT_SECONDS = 25
"""How long a writer waits for another."""


def corrupt(path: Path) -> UnavailableError:
    return UnavailableError(
        f"{path} is not an intact SQLite plan; it was left as it is.",
        reason="corrupt_store",
        suggestions=[
            "Put a backup in its place, or move it away and run: tasky project init",
            "Often what is left can be copied to a sound file: tasky backup FILE",
        ],
    )


def busy(path: Path) -> BusyError:
    return BusyError(
        f"Another process has been writing to {path.name} for {WAIT_SECONDS} seconds.",
        reason="store_busy",
        suggestions=["Try again."],
    )


def is_full(path: Path) -> bool:
    """Whether the disk of a plan has no room for what SQLite puts beside it even to read. It says
    of that no more than that the disk failed."""
    try:
        return shutil.disk_usage(path.parent).free < _ROOM
    except OSError:
        return False


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether SQLite met something in the file that cannot be so."""
    return any(word in str(error) for word in _DAMAGED)


def explained(error: sqlite3.DatabaseError, path: Path) -> TaskyError | None:
    text = str(error)
    if is_full(path) and any(word in text for word in _WHERE_FULL):
        return UnavailableError(
            f"{path} cannot be written: its disk is full.",
            reason="store_unusable",
            suggestions=["Make room, then try again. What was confirmed is there."],
        )
    if isinstance(error, sqlite3.IntegrityError):
        return contradictory()
    if is_damage(error):
        return corrupt(path)
    if "readonly" in text:
        return read_only(path, text)
    if "unable to open" in text and path.is_dir():
        return UnavailableError(
            f"{path} cannot be used: it is a folder.",
            reason="store_unusable",
            suggestions=["Put the plan's file in its place, from a backup."],
        )
    if "unable to open" in text or "disk is full" in text:
        hint = "Check the file's and the folder's permissions: SQLite writes there even to read."
        return UnavailableError(
            f"{path} cannot be used: {text}.",
            reason="store_unusable",
            suggestions=[] if "disk is full" in text else [hint],
        )
    if "locked" in text:
        return busy(path)
    if "disk I/O error" in text or "locking protocol" in text:
        return UnavailableError(
            f"{path} cannot be used: {text}. The disk failed, or its file system has no locks.",
            reason="store_unusable",
            suggestions=["Keep the plan on a local disk: tasky migrate, or another storage.path."],
        )
    return None
