"""Makes a SQLite file, and upgrades an older one after a copy."""

# ruff: noqa: S608  statements are put together from this room's own constants

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from ...errors import UnavailableError
from ..new_file import made_whole
from ..readiness import hold_up_all
from ..sql import BITMAPS, STEPS, TABLES, VERSION, steps_from
from ..upgrade import Backup, refuse_foreign, upgrade_sqlite
from .connecting import begin, connect
from .texts import told_anew
from .trouble import explained
from .view import PLACED, SqliteView

_VERSION = VERSION + 2
"""The format of this database's tables, which changed twice more than those of both: up to
`VERSION`, texts had the beginnings of words of three letters, and not those of four; up to the
next, there were no bitmaps."""
_BY_ROW = ("BIGINT NOT NULL PRIMARY KEY", "INTEGER PRIMARY KEY")
_BITMAPS = BITMAPS.format(text="TEXT", bytes="BLOB", stamp=SqliteView.stamp).replace(
    "BIGINT NOT NULL PRIMARY KEY", "INTEGER PRIMARY KEY"
)
_WORDS = """
CREATE TABLE texts (number INTEGER PRIMARY KEY, folded TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5 (folded, content = 'texts', content_rowid = 'number',
    tokenize = 'ascii', detail = none, columnsize = 0);
INSERT INTO words (words, rank) VALUES ('automerge', 0), ('crisismerge', 64);
"""
# Tags are words of the index. What else a search asks of a task stands in narrow rows, by number.
_PLACED = ", ".join(PLACED)
_NEW = ", ".join(f"new.{name}" for name in PLACED)
_PLACES = f"""
DROP TABLE tagged;
DROP INDEX tasks_order;
DROP INDEX tasks_status_order;
CREATE INDEX tasks_order ON tasks (sort_key, status);
CREATE TABLE places (number INTEGER PRIMARY KEY, {_PLACED});
INSERT INTO places SELECT number, {_PLACED} FROM tasks ORDER BY number;
CREATE TRIGGER tasks_made AFTER INSERT ON tasks BEGIN
    INSERT INTO places VALUES (new.number, {_NEW}); END;
CREATE TRIGGER tasks_moved AFTER UPDATE OF {_PLACED} ON tasks BEGIN
    UPDATE places SET ({_PLACED}) = ({_NEW}) WHERE number = new.number; END;
CREATE TRIGGER tasks_deleted AFTER DELETE ON tasks BEGIN
    DELETE FROM places WHERE number = old.number; END;
"""
# Before format 5 the index of words had texts of its own, before format 6 texts had words alone. To
# earlier versions of format 6 another table told how frequent words are.
_OLD_WORDS = """
CREATE TABLE kept AS SELECT rowid AS number, folded FROM words;
DROP TABLE words;
"""
_OLD_TEXTS = """
DROP TABLE IF EXISTS occurrences;
DROP TABLE words;
ALTER TABLE texts RENAME TO kept;
"""
_BY_ROW = ("BIGINT NOT NULL PRIMARY KEY", "INTEGER PRIMARY KEY")
_BITMAPS = BITMAPS.format(text="TEXT", bytes="BLOB", stamp=SqliteView.stamp).replace(*_BY_ROW)
_SCHEMA = (
    TABLES.format(text="TEXT").replace(*_BY_ROW)
    + """
CREATE TABLE vocabulary (word TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
"""
    + _PLACES
    + _WORDS
    + _BITMAPS
)


def make(path: Path) -> None:
    """Make a plan beside its place and put it there whole, unless another process was sooner: an
    empty file is damage, and never a plan that somebody begins."""
    try:
        with (
            suppress(FileExistsError),
            made_whole(path) as new,
            closing(connect(new, sqlite3.Connection)) as connection,
        ):
            prepare(connection, new)
    except (OSError, sqlite3.DatabaseError) as error:
        told = explained(error, path) if isinstance(error, sqlite3.DatabaseError) else None
        if told is None:
            reason = getattr(error, "strerror", None) or str(error)
            told = UnavailableError(f"{path} cannot be used: {reason}.", reason="store_unusable")
        raise told from error


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the tables to the newest format; `UnavailableError` where the file has a newer one."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == _VERSION:
        return
    if version > _VERSION:
        raise UnavailableError(
            f"{path} was written by a newer Tasky (format {version}; this one reads {_VERSION}).",
            reason="newer_store",
            suggestions=["Upgrade mcp-host-tasky."],
        )
    refuse_foreign(connection, path)
    _write_ahead(connection, path)
    begin(connection, path)
    try:
        # Another process may have made or upgraded it while this one waited.
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if min(STEPS) <= found < _VERSION:
            Backup(path, str(found)).copy_database()
            _upgrade(connection, found)
        elif found < _VERSION:
            upgrade_sqlite(connection, path, _statements(_SCHEMA), SqliteView(connection))
        connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.commit()
    finally:
        connection.rollback()


def _write_ahead(connection: sqlite3.Connection, path: Path) -> None:
    """Give the file a write-ahead log, also where others do so at the same moment."""
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError:
        # SQLite does not wait here for whoever does the same. For their transaction it does.
        begin(connection, path)
        connection.rollback()
        connection.execute("PRAGMA journal_mode = WAL")


def _upgrade(connection: sqlite3.Connection, version: int) -> None:
    """Bring the tables of an earlier format to the newest one."""
    if version <= VERSION:
        _tell_words_anew(connection, version)
    for statement in _statements(_BITMAPS):
        connection.execute(statement)


def _tell_words_anew(connection: sqlite3.Connection, version: int) -> None:
    """Bring the tables to the format in which texts have the beginnings of words."""
    words = (_OLD_WORDS if version < 5 else _OLD_TEXTS) + _WORDS
    if version < VERSION:
        words = steps_from(version).format(text="TEXT") + _PLACES + words
    for statement in _statements(words):
        connection.execute(statement)
    kept = connection.execute(
        "SELECT number, folded, tags FROM kept JOIN tasks USING (number) ORDER BY number"
    )
    connection.executemany(
        "INSERT INTO texts VALUES (?, ?)",
        ((number, told_anew(folded, json.loads(tags))) for number, folded, tags in kept),
    )
    connection.execute("DROP TABLE kept")
    connection.execute("INSERT INTO words (words) VALUES ('rebuild')")
    if version < 4:
        hold_up_all(SqliteView(connection))


def _statements(script: str) -> list[str]:
    # Not executescript: it would commit, and the schema must come whole or not at all.
    return [statement for statement in script.split(";\n") if statement.strip()]
