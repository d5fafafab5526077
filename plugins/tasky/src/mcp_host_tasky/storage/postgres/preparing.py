"""Makes a plan's tables in a PostgreSQL schema, and upgrades those of an earlier format."""

# ruff: noqa: S608  statements are put together from this room's own constants; values are bound

from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg import sql as names

from ...errors import UnavailableError
from ..readiness import hold_up_all
from ..sql import BEGINNINGS, BITMAPS, STEPS, TABLES, VERSION, steps_from, tag_word
from .lexemes import MARKED, MONTH, MONTH_SIGN
from .view import IS_READY, PostgresView

_VERSION = VERSION + 5
"""The format of this database's tables: up to `VERSION`, the index of words had words and statuses
alone, and nothing else stood beside them; up to the next, nothing found what was late when it was
created; up to the one after that, what stands beside words was written also where it had not
changed; up to the one after that, tasks were not found by how their words begin; up to the one
before this, there were no bitmaps."""
_TEXT = 'TEXT COLLATE "C"'
# They are kept as small as they can be.
_BITMAPS = BITMAPS + "ALTER TABLE bitmaps ALTER COLUMN bits SET STORAGE EXTERNAL;"
_KNOWN = """
CREATE TABLE format (version INTEGER NOT NULL);
CREATE TABLE vocabulary (word {text} NOT NULL PRIMARY KEY);
"""
# What a search by words asks of a task besides stands in the same row. It leaves room for a change
# of that: where no word changed and the page has room, the index of words is not told.
_WORDS = """
CREATE TABLE words (
    number BIGINT NOT NULL,
    unblocks INTEGER NOT NULL DEFAULT 0,
    is_ready BOOLEAN NOT NULL,
    sort_key {text} NOT NULL,
    words TSVECTOR NOT NULL
) WITH (fillfactor = 90);
"""
# New words stand in a list until the index takes them in, all at once. A write that finds the list
# full does that, for a second: `tidy` does it before, and the list may be longer than the 4 MB that
# PostgreSQL allows by itself.
_INDEX_OF_WORDS = """
ALTER TABLE words ADD CONSTRAINT words_pkey PRIMARY KEY (number);
CREATE INDEX words_index ON words USING gin (words) WITH (gin_pending_list_limit = 16384);
"""
# A write that changes words sets what stands beside them with these, before the task itself: then
# nothing is left to be done here, and the row is written once.
_PLACE = f"""
CREATE OR REPLACE FUNCTION place_words() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE words SET sort_key = new.sort_key, unblocks = new.unblocks,
        is_ready = {IS_READY.format("new")} WHERE number = new.number
        AND (sort_key, unblocks, is_ready)
            IS DISTINCT FROM (new.sort_key, new.unblocks, {IS_READY.format("new")});
    RETURN NULL;
END $$;
"""
_PLACED = f"""
CREATE TRIGGER tasks_moved
    AFTER UPDATE OF sort_key, unblocks, status, open_blockers, held_up ON tasks FOR EACH ROW
    WHEN ((old.sort_key, old.unblocks, {IS_READY.format("old")})
        IS DISTINCT FROM (new.sort_key, new.unblocks, {IS_READY.format("new")}))
    EXECUTE PROCEDURE place_words();
"""
# The order and the status of many tasks are looked up by their numbers, or where they are new: so
# no row is read for it.
_COVERING = """
ALTER TABLE tasks DROP CONSTRAINT tasks_pkey,
    ADD PRIMARY KEY (number) INCLUDE (sort_key, status);
DROP INDEX tasks_created;
CREATE INDEX tasks_created ON tasks (created_at) INCLUDE (sort_key, status);
"""
# What is due stands together in each level of the order: another index of it would take an edit a
# tenth of its time. What is new is looked for there as well, among what is due later, and here: few
# tasks are due before they are made.
_LATE = """
CREATE INDEX tasks_late ON tasks (sort_key)
    INCLUDE (status, open_blockers, held_up, claimant, claimed_until, holder)
    WHERE due_at < created_at;
DROP INDEX tasks_due;
"""
# An index answers alone only for pages of the table that were not written since they were vacuumed.
# PostgreSQL waits for a fifth of all tasks, which changes of a twentieth make of most pages.
_OFTEN_VACUUMED = """
ALTER TABLE tasks SET (autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE tagged SET (autovacuum_vacuum_scale_factor = 0.02);
"""
# A change writes a task's row anew. Where its page has room for that, and nothing changed that an
# index has, no index is told: a bulk of 50 names takes a sixth of the time. A full page sends the
# row elsewhere, and each of the indexes has to follow.
_ROOM = """
ALTER TABLE tasks SET (fillfactor = 80);
"""
# Before format 5 the words that tasks have were known only to the index.
_TO_FORMAT_5 = """
CREATE TABLE vocabulary (word {text} NOT NULL PRIMARY KEY);
INSERT INTO vocabulary
    SELECT word FROM ts_stat('SELECT words FROM words') WHERE NOT starts_with(word, '·');
"""
_OLD_WORDS = """
ALTER TABLE words RENAME TO old_words;
ALTER TABLE old_words DROP CONSTRAINT words_pkey;
DROP INDEX words_index;
"""
_BEGUN = f"""
array_to_tsvector(ARRAY(SELECT DISTINCT left(word, size)
    FROM unnest(tsvector_to_array(words)) AS word, unnest(ARRAY{list(BEGINNINGS)}) AS size
    WHERE length(word) >= size AND strpos('{MARKED}', left(word, 1)) = 0))
"""
_FROM_OLD_WORDS = f"""
INSERT INTO words (number, unblocks, is_ready, sort_key, words)
    SELECT number, unblocks, is_ready, sort_key, words || {_BEGUN} FROM old_words ORDER BY number
"""
_FROM_OLDER_WORDS = f"""
INSERT INTO words (number, unblocks, is_ready, sort_key, words)
    SELECT number, unblocks, {IS_READY.format("tasks")}, sort_key,
        words || {_BEGUN} || array_to_tsvector(
            coalesce(found, '{{}}') || ('{MONTH_SIGN}' || left(created_at, {MONTH})))
    FROM old_words JOIN tasks USING (number) LEFT JOIN (
        SELECT number, array_agg(word) AS found FROM tagged
        JOIN unnest(%s::text[], %s::text[]) AS known (tag, word) USING (tag) GROUP BY number
    ) AS marks USING (number) ORDER BY number
"""


def prepare(connection: psycopg.Connection[tuple[Any, ...]], schema: str) -> None:
    """Bring a plan's tables to the newest format, in a transaction that is already open; make them
    where there are none. `UnavailableError` where they have a newer one."""
    # Two machines may meet a new plan at once; the lock is named after the schema.
    connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (schema,))
    found = connection.execute(
        "SELECT 1 FROM information_schema.tables WHERE table_schema = %s AND table_name = 'format'",
        (schema,),
    ).fetchone()
    if found:
        _upgrade(connection, schema)
        return
    made = names.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(names.Identifier(schema))
    connection.execute(made)
    _go_to(connection, schema)
    tables = TABLES + _KNOWN + _WORDS + _INDEX_OF_WORDS
    _run(connection, tables + _PLACE + _PLACED + _ROOM + _COVERING + _LATE + _OFTEN_VACUUMED)
    _run(connection, _BITMAPS)
    connection.execute("INSERT INTO format VALUES (%s)", (_VERSION,))


def _upgrade(connection: psycopg.Connection[tuple[Any, ...]], schema: str) -> None:
    """Bring a plan of an older format up to this one's; a newer one is refused."""
    known = names.SQL("SELECT version FROM {}.format").format(names.Identifier(schema))
    row = connection.execute(known).fetchone()
    version = int(row[0]) if row else -1
    if version == _VERSION:
        return
    if not min(STEPS) <= version < _VERSION:
        raise UnavailableError(
            f"The plan's database has format {version}; this Tasky reads {_VERSION}.",
            reason="newer_store",
            suggestions=["Upgrade mcp-host-tasky."],
        )
    _go_to(connection, schema)
    _run(connection, _PLACE)
    if version < VERSION:
        words = _TO_FORMAT_5 if version < 5 else ""
        _run(connection, steps_from(version) + words + _ROOM + _COVERING + _OFTEN_VACUUMED)
        hold_up_all(PostgresView(connection, datetime.now(UTC)))
    if version < _VERSION - 1:
        _begin_words(connection, version)
    _run(connection, _BITMAPS)
    connection.execute("UPDATE format SET version = %s", (_VERSION,))


def _begin_words(connection: psycopg.Connection[tuple[Any, ...]], version: int) -> None:
    """Have tasks found by how their words begin."""
    _run(connection, _OLD_WORDS + _WORDS)
    if version <= VERSION:
        tags = [row[0] for row in connection.execute("SELECT DISTINCT tag FROM tagged")]
        connection.execute(_FROM_OLDER_WORDS.encode(), (tags, [tag_word(tag) for tag in tags]))
        _run(connection, _PLACED)
    else:
        connection.execute(_FROM_OLD_WORDS.encode())
    # The database knows nothing of a new table, until it looks at it by itself in a minute.
    _run(connection, "DROP TABLE old_words;" + _INDEX_OF_WORDS + "ANALYZE words;")
    if version <= VERSION + 1:
        _run(connection, _LATE)


def _go_to(connection: psycopg.Connection[tuple[Any, ...]], schema: str) -> None:
    connection.execute("SELECT set_config('search_path', %s, true)", (schema,))


def _run(connection: psycopg.Connection[tuple[Any, ...]], script: str) -> None:
    connection.execute(script.format(text=_TEXT, bytes="BYTEA", stamp=PostgresView.stamp).encode())
