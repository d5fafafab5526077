"""A plan of an older format is read and upgraded, with a copy beside it where it is a file.

For JSON see `test_worktrees`."""

import sqlite3
from contextlib import closing

import psycopg
import pytest
from mcp_host_tasky.storage.sql import TO_FORMAT_3
from tasky_lab import Plans, create, edit, get, names

ADDED = [line.split()[2:6] for line in TO_FORMAT_3.splitlines() if line.startswith("ALTER")]
OLD_INDEXES = """
CREATE INDEX tasks_ready ON tasks (sort_key, claimed_until, claimant)
    WHERE status = 'pending' AND open_blockers = 0;
CREATE INDEX events_undo ON events (caller, event_id)
    WHERE undone_by IS NULL AND action NOT IN ('claim', 'release', 'undo');
"""


def back_to_format_2() -> str:
    dropped = "".join(f"DROP INDEX {name};" for name in ("tasks_ready", "tasks_claimed"))
    columns = "".join(f"ALTER TABLE {one[0]} DROP COLUMN {one[3]};" for one in ADDED)
    return f"{dropped}DROP INDEX events_undo;{columns}{OLD_INDEXES}"


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_database_of_format_2_is_upgraded_and_keeps_all_it_has(plans: Plans, kind: str) -> None:
    plan = plans.open(kind)
    first, second = create(plan, "Dig", "Sow")
    edit(plan, "update", second, blockers=[first], priority=5)
    edit(plan, "claim", first)
    before, location = plan.history(), plans.location(kind)
    plan.close()
    if kind == "sqlite":
        assert location.path
        with closing(sqlite3.connect(location.path)) as connection:
            connection.executescript(back_to_format_2() + "PRAGMA user_version = 2;")
    else:
        with psycopg.connect(location.url, autocommit=True) as database:
            database.execute(f"SET search_path TO {location.schema}".encode())
            database.execute(back_to_format_2().encode())
            database.execute("UPDATE format SET version = 2")

    again = plans.open(kind)

    assert again.history() == before
    assert get(again, second)["blockers"] == [first]
    assert get(again, first)["claimed_by"] == "me"
    assert names(again, claimed_by="me") == []  # what proved the holder was not kept
    # What was done before can still be undone by who did it.
    assert edit(again, "undo")["priority"] == 3
    assert edit(again, "note", first, note="Upgraded")["notes"][0]["text"] == "Upgraded"
    if kind == "sqlite":
        assert location.path
        assert location.path.with_name("tasks.sqlite.v2.bak").exists()
