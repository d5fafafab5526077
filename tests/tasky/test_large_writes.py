"""What a write costs in a plan of thousands, and what keeps its log, seen in the files."""

import asyncio
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from mcp_host.testing import stdio_client
from mcp_host_tasky.service import Tasks
from mcp_host_tasky.storage import open_store
from mcp_host_tasky.storage.sqlite import file
from tasky_lab import ME, Person, Plans, create, names

COUNT = 2_000
CHANGED = 50
LEAST = 2 * CHANGED + 12  # a call asks whether to go on twice for each item, and at each statement


@pytest.fixture
def plan(plans: Plans) -> Tasks:
    return plans.open("sqlite")


MERGED = 4
"""So many parts has an index of words that is not merged: each write leaves one more."""


def parts(path: Path) -> int:
    """Return how many parts the index of words has in a plan's file."""
    with closing(sqlite3.connect(path)) as connection:
        found = "SELECT count(DISTINCT segid) FROM words_idx"
        return int(connection.execute(found).fetchone()[0])


def asked_beyond(work: Any) -> int:
    """Return how often SQLite asked during a call whether to go on, once in 50,000 steps."""
    asked = []
    work(lambda: asked.append(None))
    return len(asked) - LEAST


def test_changing_and_deleting_some_tasks_looks_at_no_other_tasks_tags(plan: Tasks) -> None:
    items = [{"name": f"task {n}", "tags": ["all", f"t{n % 7}"]} for n in range(COUNT)]
    ids = [str(view["task_id"]) for view in plan.create(items, ME)]
    tags = [
        {"action": "update", "task_id": one, "add_tags": ["new"], "remove_tags": ["all"]}
        for one in ids[:CHANGED]
    ]
    gone = [{"action": "delete", "task_id": one} for one in ids[CHANGED : 2 * CHANGED]]

    changed = asked_beyond(lambda guard: plan.edit(tags, ME, guard=guard))
    deleted = asked_beyond(lambda guard: plan.edit(gone, ME, guard=guard))

    # One look at all tags for each of the fifty would be fifty times 4,000 rows.
    assert max(changed, deleted) <= 10


def test_a_log_that_was_long_once_is_not_copied_after_each_write(
    plans: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "LONG_LOG", 200)
    location = plans.location("sqlite")
    plan = plans.open("sqlite")
    assert location.path
    create(plan, *(f"task {number} {'word ' * 20}" for number in range(COUNT)))
    plan.tidy(is_pause=False)
    copied = location.path.read_bytes()

    create(plan, "one more")
    plan.tidy(is_pause=False)
    after_little = location.path.read_bytes()
    plan.tidy(is_pause=True)

    assert len(copied) > 200 * 4_096
    assert after_little == copied
    assert location.path.read_bytes() != copied
    with open_store(location).read() as reading:
        assert sum(reading.counts().values()) == COUNT + 1


def test_the_log_is_copied_only_while_nobody_can_write(plans: Plans) -> None:
    path = plans.location("sqlite").path
    assert path
    plan = plans.open("sqlite")
    create(plan, "first")
    before = path.read_bytes()

    with closing(sqlite3.connect(path, isolation_level=None)) as another:
        another.execute("BEGIN IMMEDIATE")
        is_left = plan.tidy(is_pause=True)
        while_another_writes = path.read_bytes()
        another.execute("COMMIT")
    plan.tidy(is_pause=True)

    # SQLite before 3.51.3 may lose pages where the log is begun anew as its copying begins.
    assert is_left
    assert while_another_writes == before
    assert path.read_bytes() != before


def test_pauses_merge_the_index_of_words_until_nothing_is_left(plans: Plans) -> None:
    plan = plans.open("sqlite")
    for number in range(12):
        create(plan, *(f"task {number} {n}" for n in range(5)))

    steps = 1
    while plan.tidy():
        steps += 1
        assert steps < 100
    path = plans.location("sqlite").path
    assert path
    plan.close()

    assert steps > 1
    assert parts(path) < MERGED
    assert names(plans.open("sqlite"), search="task 7")


@pytest.mark.anyio
async def test_a_server_merges_what_processes_left_that_ended_before_a_pause(ann: Person) -> None:
    ann("project", "init", "--store", "sqlite")
    for number in range(6):
        ann("add", f"task {number}")
    path = ann.folder / ".tasky" / "tasks.db"
    before = parts(path)

    server = [sys.executable, "-m", "tasky_mcp_server", "--stdio", "--root", str(ann.folder)]
    served = stdio_client(server, environment={"HOME": str(ann.home)})
    async with served as client, asyncio.timeout(20):
        while (after := parts(path)) >= MERGED:
            await client.call("project_info")

    assert before >= 6
    assert after < MERGED


def test_a_plan_that_is_opened_twice_keeps_its_locks_and_its_log(plans: Plans) -> None:
    path = plans.location("sqlite").path
    assert path
    create(plans.open("sqlite"), "first")
    again = plans.open("sqlite")
    again.tidy(is_pause=False)
    look = f"import sqlite3; c = sqlite3.connect({str(path)!r}); c.execute('SELECT * FROM tasks')"

    subprocess.run([sys.executable, "-c", f"{look}.fetchall(); c.close()"], check=True)

    # Who closes a plan that nobody else has open removes its log, with what others write there.
    assert path.with_name(f"{path.name}-wal").exists()


def test_a_pause_has_the_index_of_words_take_in_what_was_written(plans: Plans) -> None:
    plan = plans.open("postgresql")
    location = plans.location("postgresql")

    def waiting() -> int:
        """Take in what waits for the index, and return how many pages that was."""
        index = f'"{location.schema}".words_index'
        with psycopg.connect(location.url, autocommit=True) as server:
            sql = "SELECT gin_clean_pending_list(%s::regclass)"
            return int((server.execute(sql, (index,)).fetchone() or [0])[0])

    create(plan, "one")
    before = waiting()
    create(plan, "two")
    plan.tidy(is_pause=True)
    after = waiting()
    create(plan, "three")
    plans.open("postgresql").tidy(is_pause=True)  # as after a process that ended before its pause

    assert (before, after, waiting()) == (1, 0, 0)


@pytest.mark.parametrize(
    ("table", "changed"), [("tasks", {"name": "Other"}), ("words", {"priority": 5})]
)
def test_a_changed_task_stays_in_its_page_and_no_index_is_told(
    plans: Plans, table: str, changed: dict[str, Any]
) -> None:
    """Else PostgreSQL writes to every index of tasks for every renamed one, and to the index of
    words, with all words of a task, for every other place in the order."""
    plan = plans.open("postgresql")
    location = plans.location("postgresql")
    text = " ".join(f"word{n}" for n in range(60))
    made = plan.create([{"name": f"Task {n}", "details": text} for n in range(300)], ME)

    def pages() -> list[tuple[int, str]]:
        with psycopg.connect(location.url) as server:
            place = "split_part(ctid::text, ',', 1)"
            source = f'"{location.schema}".{table}'
            rows = server.execute(f"SELECT number, {place} FROM {source} ORDER BY 1".encode())
            return [(int(number), str(page)) for number, page in rows.fetchall()]

    before = pages()
    edits = [{"action": "update", "task_id": one["task_id"], **changed} for one in made]
    plan.edit(edits[::20], ME)

    assert pages() == before
    assert len(set(dict(before).values())) > 10
