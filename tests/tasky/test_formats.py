"""A plan of an older format is read and upgraded, with a copy beside it where it is a file.

For JSON see `test_worktrees`."""

import sqlite3
from contextlib import closing

import psycopg
import pytest
from mcp_host_tasky.service import Search
from mcp_host_tasky.storage.sql import TO_FORMAT_3, TO_FORMAT_4
from tasky_lab import ME, Plans, create, edit, get, names

STEPS = f"{TO_FORMAT_3}{TO_FORMAT_4}".splitlines()
ADDED = [line.split()[2:6] for line in STEPS if line.startswith("ALTER")]
MADE = ("tasks_ready", "tasks_claimed", "tasks_unblocking", "tasks_discovered")
OLD_INDEXES = """
CREATE INDEX tasks_ready ON tasks (sort_key, claimed_until, claimant)
    WHERE status = 'pending' AND open_blockers = 0;
CREATE INDEX events_undo ON events (caller, event_id)
    WHERE undone_by IS NULL AND action NOT IN ('claim', 'release', 'undo');
"""


def back_to_format_2() -> str:
    dropped = "".join(f"DROP INDEX {name};" for name in MADE)
    columns = "".join(f"ALTER TABLE {one[0]} DROP COLUMN {one[3]};" for one in ADDED)
    return f"{dropped}DROP INDEX events_undo;{columns}{OLD_INDEXES}"


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_database_of_format_2_is_upgraded_and_keeps_all_it_has(plans: Plans, kind: str) -> None:
    plan = plans.open(kind)
    first, second, part, free = create(plan, "Dig", "Sow", "Rake", "Buy")
    edit(plan, "update", part, subtask_of=second)
    edit(plan, "update", second, blockers=[first, free], priority=5)
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
    assert get(again, second)["blockers"] == sorted([first, free])
    assert get(again, first)["claimed_by"] == "me"
    # What waits, and what is part of what waits, is known of the old tasks as well.
    (row,) = again.search(Search(ready=True, sort="unblocks"), ME).rows
    assert (row["name"], row["unblocks"]) == ("Buy", 1)
    assert names(again, claimed_by="me") == []  # what proved the holder was not kept
    # What was done before can still be undone by who did it.
    assert edit(again, "undo")["priority"] == 3
    assert edit(again, "note", first, note="Upgraded")["notes"][0]["text"] == "Upgraded"
    if kind == "sqlite":
        assert location.path
        assert location.path.with_name("tasks.sqlite.v2.bak").exists()
