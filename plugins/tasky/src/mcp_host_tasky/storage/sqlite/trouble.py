"""What can be wrong with a SQLite file, told in the pack's words."""

import sqlite3
from pathlib import Path

from ...errors import BusyError, TaskyError, UnavailableError
from ..store import contradictory, read_only

WAIT_SECONDS = 25
"""How long a writer waits for another."""


def corrupt(path: Path) -> UnavailableError:
    return UnavailableError(
        f"{path} is not an intact SQLite plan; it was left as it is.",
        reason="corrupt_store",
        suggestions=["Put a backup in its place, or move it away and run: tasky project init"],
    )


def busy(path: Path) -> BusyError:
    return BusyError(
        f"Another process has been writing to {path.name} for {WAIT_SECONDS} seconds.",
        reason="store_busy",
        suggestions=["Try again."],
    )


def explained(error: sqlite3.DatabaseError, path: Path) -> TaskyError | None:
    text = str(error)
    if isinstance(error, sqlite3.IntegrityError):
        return contradictory()
    if "not a database" in text or "malformed" in text:
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
