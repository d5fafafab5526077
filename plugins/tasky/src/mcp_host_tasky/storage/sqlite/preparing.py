"""Makes a SQLite file, and upgrades an older one after a copy."""

# ruff: noqa: S608  statements are put together from this room's own constants

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from ...errors import UnavailableError
from ..readiness import hold_up_all
from ..sql import STEPS, TABLES, VERSION, steps_from
from ..upgrade import Backup, refuse_foreign, upgrade_sqlite
from .connecting import begin, connect
from .trouble import explained
from .view import SqliteView

_WORDS = """
CREATE TABLE texts (number INTEGER PRIMARY KEY, folded TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5 (folded, content = 'texts', content_rowid = 'number',
    tokenize = 'ascii', detail = none, columnsize = 0);
INSERT INTO words (words, rank) VALUES ('automerge', 0), ('crisismerge', 64);
"""
# Before format 5 the index of words had texts of its own.
_TO_FORMAT_5 = (
    """
CREATE TABLE kept AS SELECT rowid AS number, folded FROM words;
DROP TABLE words;
"""
    + _WORDS
    + """
INSERT INTO texts SELECT number, folded FROM kept;
DROP TABLE kept;
INSERT INTO words (words) VALUES ('rebuild');
"""
)
_SCHEMA = (
    TABLES.format(text="TEXT").replace("BIGINT NOT NULL PRIMARY KEY", "INTEGER PRIMARY KEY")
    + """
CREATE TABLE vocabulary (word TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
"""
    + _WORDS
)


def make(path: Path) -> None:
    """Make a plan beside its place and put it there whole, unless another process was sooner: an
    empty file is damage, and never a plan that somebody begins."""
    new = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with closing(connect(new, sqlite3.Connection)) as connection:
            prepare(connection, new)
        try:
            os.link(new, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            if not path.exists():
                new.rename(path)
    except (OSError, sqlite3.DatabaseError) as error:
        told = explained(error, path) if isinstance(error, sqlite3.DatabaseError) else None
        if told is None:
            reason = getattr(error, "strerror", None) or str(error)
            told = UnavailableError(f"{path} cannot be used: {reason}.", reason="store_unusable")
        raise told from error
    finally:
        for left in new.parent.glob(f"{new.name}*"):
            left.unlink(missing_ok=True)


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the tables to the newest format; `UnavailableError` where the file has a newer one."""
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
    begin(connection, path)
    try:
        # Another process may have made or upgraded it while this one waited.
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found in STEPS:
            Backup(path, str(found)).copy_database()
            words = _TO_FORMAT_5 if found < 5 else ""
            for statement in _statements(steps_from(found).format(text="TEXT") + words):
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
