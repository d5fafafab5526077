"""When something is in the way: disks that are full or have no locks, and tasks that are gone."""

import errno
import fcntl
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from disks import fill, small_disk
from mcp_host_tasky.errors import (
    BusyError,
    ConflictError,
    InvalidError,
    StoppedError,
    TaskyError,
    UnavailableError,
    UnreachableError,
)
from mcp_host_tasky.service import Plan, Tasks
from mcp_host_tasky.storage import Location, open_store
from mcp_host_tasky.storage.sqlite.trouble import explained
from tasky_lab import ME, Person, Plans, create, edit, get, names, refusal


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    with small_disk(place, 1):
        yield place


@pytest.mark.parametrize("kind", ["json", "sqlite"])
def test_a_full_disk_is_told_of_and_leaves_no_temporary_file(kind: str, disk: Path) -> None:
    plan = Tasks(open_store(Location(kind, disk / "plan")), Plan(name="Small"))
    create(plan, "Before")
    fill(disk)

    error = refusal(lambda: create(plan, "Much", details="long " * 9_000))

    assert (error.code, error.reason) == ("unavailable", "store_unusable")
    assert "full" in error.message or "No space left" in error.message
    left = [file.name for file in disk.rglob("*") if file.name.endswith((".tmp", "ready"))]
    assert left == []
    assert names(plan) == ["Before"]
    (disk / "filler").unlink()
    create(plan, "After")
    assert names(plan) == ["Before", "After"]
    plan.close()


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK])
def test_a_disk_without_locks_is_told_in_one_line(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Tasks(open_store(Location("json", tmp_path / "plan")), Plan(name="Near")).close()
    (tmp_path / "plan.lock").touch()  # as another left it

    def refuse(*_: object) -> None:
        raise OSError(code, "no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)  # what the system itself would answer
    error = refusal(
        lambda: create(
            Tasks(open_store(Location("json", tmp_path / "plan")), Plan(name="Far")), "One"
        )
    )

    assert (error.code, error.reason, error.retryable) == ("unavailable", "store_unusable", False)
    assert "\n" not in error.message


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("disk I/O error", "store_unusable"),
        ("locking protocol", "store_unusable"),
        ("database or disk is full", "store_unusable"),
        ("database disk image is malformed", "corrupt_store"),
        ("attempt to write a readonly database", "store_read_only"),
        ("database is locked", "store_busy"),
    ],
)
def test_what_sqlite_says_of_its_disk_has_a_name(said: str, reason: str, tmp_path: Path) -> None:
    import sqlite3

    error = explained(sqlite3.OperationalError(said), tmp_path / "tasks.db")

    assert error is not None
    assert error.reason == reason


@pytest.mark.parametrize(
    ("kind", "retryable"),
    [
        (UnavailableError, False),  # a person must mend it first
        (StoppedError, True),  # nothing was written
        (BusyError, True),
        (ConflictError, False),
        (InvalidError, False),
    ],
)
def test_retryable_says_whether_the_same_call_may_succeed(
    kind: type[TaskyError], retryable: bool
) -> None:
    assert kind("x", reason="y").retryable is retryable
    assert not kind("x", reason="y").sent


def test_whether_a_call_may_be_repeated_whose_database_is_away_depends_on_the_call() -> None:
    lost = UnreachableError(sent=True)

    assert (lost.retryable, lost.sent) == (None, True)


def test_the_history_of_a_deleted_task_can_be_read(plan: Tasks) -> None:
    gone, here = create(plan, "Gone", "Here")
    edit(plan, "update", gone, priority=5)
    edit(plan, "delete", gone)

    events = plan.history(gone[:8])
    view, other = sorted(
        plan.get([gone[:8], here], fields=["history", "name"]), key=lambda one: str(one["name"])
    )

    assert [event["action"] for event in events] == ["delete", "update", "create"]
    assert (view["status"], view["name"]) == ("deleted", "Gone")
    assert [event["action"] for event in view["history"]] == ["delete", "update", "create"]  # type: ignore[union-attr,call-overload,index]
    assert other["name"] == "Here"
    assert refusal(lambda: plan.get([gone])).reason == "task_not_found"
    assert refusal(lambda: plan.history("ffffffff")).reason == "task_not_found"


def test_people_read_the_log_of_a_deleted_task(ann: Person) -> None:
    ann("project", "init")
    task = ann.data("add", "Gone")["task_id"]
    ann("delete", task)

    assert [event["action"] for event in ann.data("log", task[:8])] == ["delete", "create"]


def test_a_task_that_waits_within_itself_is_told(plan: Tasks) -> None:
    whole, part = create(plan, "Whole", "Part")
    edit(plan, "update", part, subtask_of=whole)

    inner = edit(plan, "update", part, blockers=[whole])
    assert "which it is part of" in inner["warnings"][0]
    edit(plan, "update", part, blockers=[])
    outer = edit(plan, "update", whole, blockers=[part])
    assert "its own part “Part”" in outer["warnings"][0]
    made = plan.create([{"name": "New", "subtask_of": whole, "blockers": [whole]}], ME)
    assert "which it is part of" in str(made[0]["warnings"])
    assert "warnings" not in edit(plan, "update", get(plan, part)["task_id"], priority=5)


def test_words_between_searched_words_are_told_to_be_words(plan: Tasks) -> None:
    from mcp_host_tasky.service import Search

    page = plan.search(Search(search="seeds OR peas"), ME)

    assert "OR, AND and NOT are words" in page.dates["warnings"]


def miscount(location: Location) -> None:
    """Write past Tasky, so that the plan counts fewer tasks than it has."""
    wrong = "UPDATE counters SET value = 1 WHERE name IN ('last_number', 'pending')"
    if location.path:
        with sqlite3.connect(location.path) as file:
            file.execute(wrong)
        file.close()
    else:
        with psycopg.connect(location.url, options=f"-c search_path={location.schema}") as server:
            server.execute(wrong)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_plan_that_counts_fewer_tasks_than_it_has_says_so_and_its_copy_counts_right(
    kind: str, plans: Plans
) -> None:
    plan = plans.open(kind)
    create(plan, "One", "Two", "Three")
    miscount(plans.location(kind))

    error = refusal(lambda: create(plan, "Four"))
    found = plan.check()

    assert (error.code, error.reason) == ("unavailable", "corrupt_store")
    assert "tasky check" in error.suggestions[0]
    assert "counts 1 tasks as pending, and has 3" in found[0]
    assert "number 3" in found[1]
    assert "tasky backup" in found[2]
    copy = Location("sqlite", plans.folder / "copy.db")
    plan.back_up(plans.folder / "copy.db")
    mended = Tasks(open_store(copy), Plan(name="Copy"))
    assert mended.check() == []
    create(mended, "Four")
    mended.close()
