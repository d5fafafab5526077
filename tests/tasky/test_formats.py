"""A plan of an older format is read and upgraded, with a copy beside it where it is a file.

For JSON see `test_worktrees`."""

import re
import sqlite3
from contextlib import closing

import psycopg
import pytest
from mcp_host_tasky.service import Search
from mcp_host_tasky.storage.sql import STEPS, VERSION, steps_from
from tasky_lab import ME, Plans, create, edit, get, names

INDEXES = {
    2: """
CREATE INDEX tasks_ready ON tasks (sort_key, claimed_until, claimant)
    WHERE status = 'pending' AND open_blockers = 0;
CREATE INDEX events_undo ON events (caller, event_id)
    WHERE undone_by IS NULL AND action NOT IN ('claim', 'release', 'undo');
""",
    3: """
CREATE INDEX tasks_ready ON tasks (sort_key, claimed_until, holder)
    WHERE status = 'pending' AND open_blockers = 0;
""",
    4: "",
    5: "",
}
"""The indexes of earlier formats that a later one has replaced."""
WORDS = {
    "sqlite": """
CREATE TABLE old AS SELECT * FROM texts;
DROP TABLE words;
DROP TABLE texts;
CREATE VIRTUAL TABLE words USING fts5 (folded, tokenize = 'ascii', detail = none, columnsize = 0);
INSERT INTO words (rowid, folded) SELECT number, folded FROM old;
DROP TABLE old;
""",
    "postgresql": "DROP TABLE vocabulary;",
}
"""How words were kept before format 5."""
TAGGED = """
CREATE TABLE tagged (tag TEXT NOT NULL, number BIGINT NOT NULL, PRIMARY KEY (tag, number));
INSERT INTO tagged SELECT value, number FROM tasks, json_each(tasks.tags);
DROP TRIGGER tasks_made;
DROP TRIGGER tasks_moved;
DROP TRIGGER tasks_deleted;
DROP TABLE places;
DROP INDEX tasks_order;
CREATE INDEX tasks_order ON tasks (sort_key);
CREATE INDEX tasks_status_order ON tasks (status, sort_key);
UPDATE texts SET folded = plain_words(folded);
INSERT INTO words (words) VALUES ('rebuild');
"""
"""How SQLite kept tags, and the texts that it finds tasks by, before format 6."""
SHORT_BEGINNINGS = """
UPDATE texts SET folded = short_beginnings(folded);
INSERT INTO words (words) VALUES ('rebuild');
CREATE VIRTUAL TABLE occurrences USING fts5vocab (words, row);
"""
"""How SQLite kept those texts before its format 7, and what told how frequent words are."""

PLAIN_WORDS = """
DROP TRIGGER tasks_moved ON tasks;
DROP FUNCTION place_words;
CREATE TABLE old AS SELECT number, words FROM words;
DROP TABLE words;
CREATE TABLE words (number BIGINT NOT NULL PRIMARY KEY, words TSVECTOR NOT NULL);
CREATE INDEX words_index ON words USING gin (words);
INSERT INTO words SELECT number, array_to_tsvector(ARRAY(
    SELECT word FROM unnest(tsvector_to_array(words)) AS word WHERE left(word, 1) NOT IN ('§', '@')
)) FROM old;
DROP TABLE old;
"""
"""How PostgreSQL kept words before its format 7."""

WHOLE_WORDS = """
UPDATE words SET words = array_to_tsvector(ARRAY(
    SELECT word FROM unnest(tsvector_to_array(words)) AS word WHERE left(word, 1) IN ('§', '@', '·')
        OR word = ANY (regexp_split_to_array(lower(name || ' ' || details), '[^a-z0-9]+'))
)) FROM tasks WHERE tasks.number = words.number;
"""
"""How PostgreSQL kept words before its format 10: without their beginnings."""
NO_BITMAPS = """
DROP TABLE bitmaps;
DROP TABLE reworded;
DROP INDEX tasks_waiting;
"""
"""How both were before the newest of their formats."""
INDEXES_NOW = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()"
PLAIN = """
ALTER TABLE tasks DROP CONSTRAINT tasks_pkey, ADD PRIMARY KEY (number);
DROP INDEX tasks_created;
CREATE INDEX tasks_created ON tasks (created_at);
"""
"""How PostgreSQL kept numbers and dates at first, without the order beside them."""
DATED = """
DROP INDEX tasks_late;
CREATE INDEX tasks_due ON tasks (due_at) WHERE due_at IS NOT NULL;
"""
"""How PostgreSQL kept dates before its format 8."""
PLACED_ALWAYS = """
CREATE OR REPLACE FUNCTION place_words() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE words SET sort_key = new.sort_key, unblocks = new.unblocks, is_ready =
        (new.status = 'pending' AND new.open_blockers = 0 AND new.held_up = 0)
        WHERE number = new.number;
    RETURN NULL;
END $$;
"""
"""How PostgreSQL kept what stands beside words before its format 9."""
FUNCTIONS_NOW = (
    "SELECT proname, pg_get_functiondef(oid) FROM pg_proc "
    "WHERE pronamespace = current_schema()::regnamespace"
)


def plain_words(text: str) -> str:
    """The text of a task without its tags, and without the beginnings of its words."""
    return " ".join(word for word in text.split() if word[0] not in "§¬")


def short_beginnings(text: str) -> str:
    """The text of a task without beginnings of four letters."""
    return " ".join(word for word in text.split() if word[0] != "¬" or len(word) == len("¬abc"))


def back_to(version: int, kind: str) -> str:
    """The statements that take the newest tables back to an earlier format."""
    steps = steps_from(version) if version < VERSION else ""
    dropped = "".join(
        f"DROP INDEX {name};" for name in dict.fromkeys(re.findall(r"CREATE INDEX (\w+)", steps))
    )
    added = re.findall(r"ALTER TABLE (\w+) ADD COLUMN (\w+)", steps)
    columns = "".join(f"ALTER TABLE {table} DROP COLUMN {name};" for table, name in added)
    words = WORDS[kind] if version < 5 else ""
    found = NO_BITMAPS
    if kind == "sqlite" and version <= VERSION:
        found += TAGGED if version < VERSION else SHORT_BEGINNINGS
    if kind == "postgresql":
        found += WHOLE_WORDS if version <= VERSION + 3 else ""
        found += PLACED_ALWAYS if version <= VERSION + 2 else ""
        found += DATED if version <= VERSION + 1 else ""
        found += PLAIN_WORDS if version <= VERSION else ""
    return f"{found}{dropped}{columns}{INDEXES.get(version, '')}{words}"


def test_every_step_between_formats_leads_to_the_next() -> None:
    assert sorted(STEPS) == sorted(INDEXES) == list(range(2, VERSION))


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        *(("sqlite", version) for version in (*STEPS, VERSION, VERSION + 1)),
        *(("postgresql", version) for version in (*STEPS, *range(VERSION, VERSION + 5))),
    ],
)
def test_a_database_of_an_earlier_format_is_upgraded_and_keeps_all_it_has(
    plans: Plans, kind: str, version: int
) -> None:
    plan = plans.open(kind)
    first, second, part, free = create(plan, "Dig", "Sow", "Rake", "Buy")
    edit(plan, "update", part, subtask_of=second, tags=["field work", "spring"])
    edit(plan, "update", second, blockers=[first, free], priority=5)
    edit(plan, "claim", first)
    before, location = plan.history(), plans.location(kind)
    plan.close()
    if kind == "sqlite":
        assert location.path
        with closing(sqlite3.connect(location.path)) as connection:
            connection.create_function("plain_words", 1, plain_words)
            connection.create_function("short_beginnings", 1, short_beginnings)
            back = back_to(version, kind)
            connection.executescript(f"{back}PRAGMA user_version = {version};")
    else:
        with psycopg.connect(location.url, autocommit=True) as database:
            database.execute(f"SET search_path TO {location.schema}".encode())
            indexes = dict(database.execute(INDEXES_NOW).fetchall())
            functions = database.execute(FUNCTIONS_NOW).fetchall()
            if version < VERSION:
                database.execute(PLAIN)
            database.execute(back_to(version, kind).encode())
            database.execute("UPDATE format SET version = %s", (version,))

    again = plans.open(kind)

    assert again.history() == before
    assert get(again, second)["blockers"] == sorted([first, free])
    assert get(again, first)["claimed_by"] == "me"
    # What waits, and what is part of what waits, is known of the old tasks as well.
    rows = again.search(Search(ready=True, sort="unblocks"), ME).rows
    assert ("Buy", 1) in [(row["name"], row.get("unblocks")) for row in rows]
    assert not {"Sow", "Rake"} & {row["name"] for row in rows}
    # What proved the holder was not kept in format 2.
    assert names(again, claimed_by="me") == ([] if version == 2 else ["Dig"])
    # What was done before can still be undone by who did it.
    assert edit(again, "undo")["priority"] == 3
    assert edit(again, "note", first, note="Upgraded")["notes"][0]["text"] == "Upgraded"
    # Words are found as before, and as they are changed from now on.
    edit(again, "update", free, name="Sell")
    assert [names(again, search=word) for word in ("rak", "buy", "sel")] == [["Rake"], [], ["Sell"]]
    assert names(again, search="rake") == ["Rake"]
    assert again.check() == []
    assert names(again, search="sell", status="pending") == ["Sell"]
    assert names(again, search="rak", tags=["field work", "spring"]) == ["Rake"]
    edit(again, "update", part, remove_tags=["field work"])
    assert [names(again, tags=[tag]) for tag in ("field work", "spring")] == [[], ["Rake"]]
    assert again.check() == []
    if kind == "sqlite":
        assert location.path
        assert location.path.with_name(f"tasks.sqlite.v{version}.bak").exists()
    else:
        with psycopg.connect(location.url) as database:
            database.execute(f"SET search_path TO {location.schema}".encode())
            assert dict(database.execute(INDEXES_NOW).fetchall()) == indexes
            assert database.execute(FUNCTIONS_NOW).fetchall() == functions
