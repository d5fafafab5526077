"""Bitmaps of the words that many tasks have: whatever was written since they were made, whichever
way a search goes, it finds what JSON finds."""

import random
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import psycopg
import pytest
from mcp_host_tasky.service import Search, Tasks
from mcp_host_tasky.storage import Location, open_store
from mcp_host_tasky.storage.postgres import by_bitmaps as postgres_by_bitmaps, limits
from mcp_host_tasky.storage.sql import bitmap_making, bitmaps
from mcp_host_tasky.storage.sqlite import by_bitmaps
from tasky_combinations import find_the_same, plan_of_all, random_edit, random_task
from tasky_lab import ME, Plans, Searched, edit, names

SMALL = {
    "PART": 64,
    "BLOCK": 32,
    "REWORDED": 40,
    "FREQUENT": 3,
    "SMALLEST": 10,
    "LAGGING": 4,
    "LAGGING_MEANWHILE": 8,
    "LEASE": 0,
}
"""What is set for plans of a million, here for a few dozen tasks."""
KINDS = ["sqlite", "postgresql"]

pytestmark = pytest.mark.xdist_group("tasky_bitmaps")


def set_limits(patch: pytest.MonkeyPatch, values: dict[str, int]) -> None:
    for name, value in values.items():
        for room in (bitmaps, bitmap_making, by_bitmaps, postgres_by_bitmaps):
            if hasattr(room, name):
                patch.setattr(room, name, value)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, SMALL)


def made_of(location: Location, sql: str) -> list[tuple[Any, ...]]:
    """What a plan's database answers."""
    if location.path:
        with closing(sqlite3.connect(location.path)) as file, file:
            return file.execute(sql).fetchall()
    with psycopg.connect(location.url, options=f"-c search_path={location.schema}") as server:
        found = server.execute(sql.encode())
        return found.fetchall() if found.description else []


WAYS: dict[str, dict[str, int]] = {
    "as a plan of a million is searched": {},
    "all are sorted": {"SORTED": 0, "STEPS": 0, "FEW": 0, "NEW": 0},
    "many are met on a walk": {"SORTED": 0, "STEPS": 1_000_000, "FEW": 0, "NEW": 0, "ASKED": 7},
    "walks go too far": {"SORTED": 0, "STEPS": 1_000_000, "FURTHER": 0, "FOLLOWED": 10, "FEW": 0},
    "few of other conditions are looked up": {"SORTED": 0, "FEW": 1_000, "LOOKED_UP": 30},
    "nothing is rare": {"RARE": 0},
}


@pytest.fixture(scope="module")
def copies(
    tmp_path_factory: pytest.TempPathFactory, database: str
) -> Iterator[tuple[dict[str, Tasks], Searched]]:
    """A plan with bitmaps on each kind of store, and what JSON finds in it."""
    with pytest.MonkeyPatch.context() as patch, ExitStack() as opened:
        set_limits(patch, SMALL | {"FREQUENT": 150})
        stores = plan_of_all(tmp_path_factory, database)
        for plan in stores.values():
            opened.callback(plan.close)
        for kind in KINDS:
            while stores[kind].tidy():
                pass
        yield stores, Searched(stores["json"])


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [100, pytest.param(1_000, marks=pytest.mark.torture)])
def test_any_combination_of_conditions_finds_the_same_by_bitmaps(
    copies: tuple[dict[str, Tasks], Searched],
    kind: str,
    way: dict[str, int],
    count: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stores, known = copies
    set_limits(monkeypatch, SMALL | way)
    monkeypatch.setattr(limits, "FEW", way.get("FEW", 20))
    find_the_same(stores[kind], known, way, count)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.usefixtures("small")
def test_what_is_found_stays_right_whatever_is_edited_since_bitmaps_were_made(
    plans: Plans, kind: str, seed: int
) -> None:
    """Bitmaps are made at random moments, by a process that is ahead of the other or behind it."""
    chance = random.Random(seed)
    both = [plans.open(kind), plans.open("json")]
    another = plans.open(kind)
    known: list[tuple[str, str]] = []
    used = 0
    for _ in range(30):
        new = [random_task(chance, 40) for _ in range(chance.randint(1, 6))]
        made = [[view["task_id"] for view in tasks.create(new, ME)] for tasks in both]
        known += zip(*made, strict=True)
        for ids in chance.sample(known, min(len(known), 3)):
            operation = random_edit(chance, 40)
            for tasks, task_id in zip(both, ids, strict=True):
                edit(tasks, **operation, task_id=task_id)
            if operation["action"] == "delete":
                known.remove(ids)
        while chance.random() < 0.6 and chance.choice([both[0], another]).tidy(
            is_pause=chance.random() < 0.8
        ):
            pass
        assert both[0].check() == []
        for search in ("abc", "abd", "abcc", "äbc", "日本語", "aaaa", "task abc", "q abd", "ab"):
            for more in ({}, {"status": "pending"}, {"tags": ["home"]}):
                found, expected = [names(tasks, search=search, **more) for tasks in both]
                assert found == expected
        reworded = made_of(plans.location(kind), "SELECT count(*) FROM reworded")
        used += reworded[0][0] <= SMALL["REWORDED"]
    assert used > 5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("small")
def test_two_processes_that_make_the_same_bitmaps_at_once_keep_them_right(
    plans: Plans, kind: str
) -> None:
    both = [plans.open(kind), plans.open(kind)]
    both[0].create([{"name": f"abc abd {number}"} for number in range(100)], ME)
    is_over = threading.Event()

    def make(plan: Tasks) -> None:
        while not is_over.is_set():
            plan.tidy()

    makers = [threading.Thread(target=make, args=(plan,)) for plan in both]
    for maker in makers:
        maker.start()
    try:
        ids = [row["task_id"] for row in both[0].search(Search(search="abc", limit=100), ME).rows]
        for at, one in enumerate(ids):
            edit(both[at % 2], "update", one, name=f"abd only {at}")
            assert len(names(both[1], search="abc", limit=200)) == len(ids) - 1 - at
    finally:
        is_over.set()
        for maker in makers:
            maker.join()

    while both[0].tidy():
        pass
    made = made_of(plans.location(kind), "SELECT count(*) FROM bitmaps WHERE word = 'abd'")
    assert made[0][0] > 0
    assert both[1].check() == []
    assert len(names(both[1], search="abd", limit=200)) == 100
    assert names(both[1], search="abc") == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("small")
def test_a_bitmap_that_is_damaged_is_told_and_a_copy_has_it_right(plans: Plans, kind: str) -> None:
    plan = plans.open(kind)
    plan.create([{"name": f"abc abd {number}"} for number in range(100)], ME)
    while plan.tidy():
        pass
    location = plans.location(kind)
    assert plan.check() == []

    made_of(location, "UPDATE bitmaps SET bits = '' WHERE word = 'abc' AND part = 1")

    assert plan.check() == [
        "Bitmaps of words are wrong in 1 parts. A copy has them right: tasky backup."
    ]
    copy = plans.location("sqlite", "copy")
    plan.copy_to(open_store(copy), lambda: None)
    again = plans.open("sqlite", "copy")
    assert again.check() == []
    assert len(names(again, search="abc", limit=200)) == 100


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("small")
def test_bitmaps_that_cannot_be_read_are_not_used(plans: Plans, kind: str) -> None:
    plan = plans.open(kind)
    plan.create([{"name": f"abc abd {number}"} for number in range(100)], ME)
    while plan.tidy():
        pass

    kind_of = {"sqlite": "BLOB", "postgresql": "BYTEA"}[kind]
    damage = f"UPDATE bitmaps SET bits = CAST('damaged' AS {kind_of}) WHERE word = 'abc'"
    made_of(plans.location(kind), damage)

    assert len(names(plan, search="abc", limit=200)) == 100
    assert len(names(plan, search="abc abd 7")) == 1
    assert plan.check() != []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("small")
def test_words_are_chosen_anew_in_a_plan_that_has_grown(plans: Plans, kind: str) -> None:
    plan = plans.open(kind)
    plan.create([{"name": f"abc {number}"} for number in range(60)], ME)
    while plan.tidy():
        pass
    plan.create([{"name": f"xyzw {number}"} for number in range(60)], ME)
    while plan.tidy():
        pass

    words = {row[0] for row in made_of(plans.location(kind), "SELECT word FROM bitmaps")}
    assert {"abc", "xyz", "xyzw"} <= words
    assert made_of(plans.location(kind), "SELECT count(*) FROM reworded") == [(0,)]
    assert [len(names(plan, search=one, limit=200)) for one in ("abc", "xyz")] == [60, 60]
    assert plan.check() == []


@pytest.mark.parametrize("kind", KINDS)
def test_bitmaps_are_left_to_a_process_that_makes_them_for_a_minute(
    plans: Plans, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, SMALL | {"LEASE": 60})
    plan, location = plans.open(kind), plans.location(kind)
    plan.create([{"name": f"abc {number}"} for number in range(60)], ME)
    second = {"sqlite": "unixepoch()", "postgresql": "extract(epoch from now())::bigint"}[kind]

    made_of(location, f"INSERT INTO counters VALUES ('bitmaps_making_at', {second} - 20)")
    assert plan.tidy()
    assert made_of(location, "SELECT count(*) FROM bitmaps") == [(0,)]

    made_of(location, f"UPDATE counters SET value = {second} - 61 WHERE name LIKE 'bitmaps%'")
    while plan.tidy():
        pass
    assert made_of(location, "SELECT count(*) FROM bitmaps") != [(0,)]
    assert plan.check() == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("small")
def test_a_plan_that_is_closed_makes_no_more_bitmaps(plans: Plans, kind: str) -> None:
    plan = plans.open(kind)
    plan.create([{"name": f"abc {number}"} for number in range(60)], ME)
    plan.close()

    with pytest.raises(Exception, match="closed"):
        while plan.tidy():
            pass
