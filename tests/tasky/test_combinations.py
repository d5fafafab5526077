"""Every combination of conditions has the same answers on SQLite and PostgreSQL as on JSON, by
whichever way, and what they are found by stays right after any edits."""

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta
from typing import Any

import psycopg
import pytest
from mcp_host_tasky.errors import TaskyError
from mcp_host_tasky.service import Search, Tasks
from mcp_host_tasky.service.formats import named
from mcp_host_tasky.storage import Location, open_store
from mcp_host_tasky.storage.postgres import limits
from mcp_host_tasky.storage.sql import view as sql_view
from mcp_host_tasky.storage.sqlite import asking, begun, searching
from tasky_combinations import find_the_same, plan_of_all, random_edit, random_task
from tasky_lab import ME, Plans, Searched, edit, names

# One worker makes the plans, for all of these.
pytestmark = pytest.mark.xdist_group("tasky_combinations")


@pytest.fixture(scope="module")
def plan_of(tmp_path_factory: pytest.TempPathFactory, database: str) -> Iterator[dict[str, Tasks]]:
    """The same plan on each kind of store."""
    stores = plan_of_all(tmp_path_factory, database)
    yield stores
    for tasks in stores.values():
        tasks.close()


@pytest.fixture(scope="module")
def known(plan_of: dict[str, Tasks]) -> Searched:
    """What each search of that plan finds, by JSON."""
    return Searched(plan_of["json"])


WAYS: dict[str, dict[str, int]] = {
    "as a plan of a million is searched": {},
    "few are gathered": {"GATHERED": 40, "FEW": 10, "NEW": 20, "READ_AT_ONCE": 7},
    "all are gathered after some texts": {"GATHERED": 40, "FEW": 7, "READ_AT_ONCE": 7, "READ": 7},
    "texts of the few are read": {"GATHERED": 40, "FEW": 1_000},
    "lists are walked past": {"SORTED": 0, "ENTRIES": 1_000_000},
    "what is new is looked for on a walk": {"NEW": 20, "PASSED": 150, "DATED": 900},
    "long lists are walked past": {"SORTED": 30, "ENTRIES": 1_000_000, "LOOKED_UP": 25},
    "few beginnings are spelt out": {"EXPANSIONS": 1, "FEW": 20},
    "few beginnings are spelt out, few are gathered": {"EXPANSIONS": 1, "FEW": 20, "GATHERED": 40},
    "beginnings of what is new are merged": {"EXPANSIONS": 1, "SPELT": 1, "GATHERED": 40},
    "much is new": {"DATED": 100, "GATHERED": 40},
    "few texts tell of beginnings": {"EXPANSIONS": 1, "DRAWN": 30, "FEW_DRAWN": 0, "OFTEN": 1},
    "what else is asked is walked along": {
        "EXPANSIONS": 1,
        "FEW_DRAWN": 0,
        "OFTEN": 1,
        "FEW": 5,
        "MERGED": 100_000,
        "GATHERED": 40,
        "READ_AT_ONCE": 7,
    },
    "texts of all are read for beginnings": {
        "EXPANSIONS": 1,
        "FEW_DRAWN": 0,
        "LISTED": 0,
        "GATHERED": 40,
        "READ": 10_000,
        "PAGE": 0,
    },
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("count", [100, pytest.param(1_000, marks=pytest.mark.torture)])
def test_any_combination_of_conditions_finds_the_same_pages_and_total(
    plan_of: dict[str, Tasks],
    known: Searched,
    way: dict[str, int],
    count: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Which way is gone is set for plans of a million; here for a thousand."""
    for name, value in way.items():
        for room in (asking, begun, searching, sql_view):
            if hasattr(room, name):
                monkeypatch.setattr(room, name, value)
    find_the_same(plan_of["sqlite"], known, way, count)


POSTGRESQL_WAYS: dict[str, dict[str, int]] = {
    "as a plan of a million is searched": {},
    "lists are made of all that have the words": {"FEW": 10, "SURE": 9_000, "QUICK": 100_000},
    "few are listed, and no months are spelt out": {
        "FEW": 10,
        "SORTED": 30,
        "LISTED": 30,
        "QUICK": 0,
        "TAG": 10,
        "TAG_LISTED": 10,
        "MONTHS": 0,
        "CANDIDATES": 40,
    },
    "beginnings are not spelt out": {
        "EXPANSIONS": 1,
        "FEW": 10,
        "SURE": 10,
        "TEXTS": 40,
        "NARROW": -1,
    },
    "beginnings are listed": {
        "EXPANSIONS": 1,
        "BEGUN_TAKES": 0,
        "FEW": 10,
        "TEXT_TAKES": 900,
        "NARROW": -1,
    },
    "texts are looked at for beginnings": {"EXPANSIONS": 1, "FEW": 10, "QUICK": 100_000},
    "known words are spelt out": {"BEGUN_TAKES": 1_000_000, "FEW": 10, "SORTED": 0},
    "known words are not spelt out": {"LEXEME_TAKES": 1_000_000, "FEW": 10, "SORTED": 0},
    "texts are looked up on walks": {
        "FEW": 10,
        "SORTED": 0,
        "LISTED": 0,
        "QUICK": 0,
        "SOON_TOLD": 0,
        "SURE": 10,
        "TEXTS": 40,
        "WALKED": 60,
        "MOST_WALKED": 60,
        "FOLLOWED": 100,
        "STEPS": 150,
    },
    "no walk goes by dates": {
        "FEW": 10,
        "LISTED": 0,
        "QUICK": 0,
        "PASSED": -1,
        "PASSED_FOR_EACH": -1,
        "CANDIDATES": 0,
        "DATED": 100,
        "TEXTS": 40,
    },
    "what a date leaves is sorted": {
        "FEW": 10,
        "QUICK": 0,
        "PASSED": -1,
        "PASSED_FOR_EACH": -1,
        "STEPS": 150,
    },
}


@pytest.mark.parametrize("way", POSTGRESQL_WAYS.values(), ids=POSTGRESQL_WAYS)
@pytest.mark.parametrize("count", [100, pytest.param(1_000, marks=pytest.mark.torture)])
def test_any_combination_finds_the_same_on_postgresql(
    plan_of: dict[str, Tasks],
    known: Searched,
    way: dict[str, int],
    count: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in way.items():
        monkeypatch.setattr(sql_view if name == "EXPANSIONS" else limits, name, value)
    find_the_same(plan_of["postgresql"], known, way, count)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_what_was_brought_in_out_of_order_is_found_by_words_and_creation(
    plans: Plans, kind: str
) -> None:
    """SQLite looks for what is new from the lowest number on that any of it has; PostgreSQL spells
    its months out, where they are few."""
    plan = plans.open(kind)
    days = [date(2024, 2, 1) + timedelta(days=25 * step) for step in range(28)]
    shuffled = random.Random(9).sample(days, len(days))
    lines = [
        json.dumps({"id": f"bd-{day:%y%m%d}", "title": f"server {day}", "created_at": f"{day}"})
        for day in shuffled
    ]
    plan.bring_in(named("beads").read({"issues.jsonl": "\n".join(lines)}), "beads", ME)

    for day in days:
        wanted = Search(search="serv", created_after=f"{day}", limit=200)
        found = plan.search(wanted, ME)
        newer = {f"server {later}" for later in days if later >= day}
        assert {row["name"] for row in found.rows} == newer
        assert found.total == len(newer)
    none = plan.search(Search(search="serv", created_after="2026-03-01"), ME)
    assert (none.rows, none.total) == ([], 0)


@pytest.mark.parametrize("longest", [5, 9_000])
@pytest.mark.parametrize("seed", range(3))
def test_sqlite_finds_no_damage_after_random_edits_of_words(
    plans: Plans, seed: int, longest: int
) -> None:
    """The index of words is told of what differs, no more: SQLite compares it with the texts."""
    chance = random.Random(seed)
    both = [plans.open("sqlite"), plans.open("json")]
    known: list[tuple[str, str]] = []
    for _ in range(25):
        new = [random_task(chance, longest) for _ in range(chance.randint(1, 2))]
        made = [[view["task_id"] for view in tasks.create(new, ME)] for tasks in both]
        known += zip(*made, strict=True)
        for ids in chance.sample(known, min(len(known), 3)):
            operation = random_edit(chance, longest)
            for tasks, task_id in zip(both, ids, strict=True):
                edit(tasks, **operation, task_id=task_id)
            if operation["action"] == "delete":
                known.remove(ids)
        while chance.random() < 0.5 and both[0].tidy():
            pass
        assert both[0].check() == []
        for search in ("abc", "abd", "abcc", "äbc", "日本語", "aaaa"):
            found, expected = [names(tasks, search=search) for tasks in both]
            assert found == expected


@pytest.mark.parametrize("seed", range(3))
def test_what_postgresql_finds_tasks_by_stays_that_of_a_fresh_copy_after_random_edits(
    plans: Plans, seed: int
) -> None:
    """Beside the words of a task stand its tags, its place in the order, whether it can be begun
    and how many wait for it; each is told of what differs alone."""
    chance = random.Random(seed)
    plan = plans.open("postgresql")
    ids: list[str] = []
    for _ in range(40):
        made = plan.create([random_task(chance, 9_000) for _ in range(2)], ME)
        ids += [str(view["task_id"]) for view in made]
        for one in chance.sample(ids, min(len(ids), 6)):
            operation = _related(chance, ids)
            with suppress(TaskyError):  # a circle, or what was done already
                edit(plan, **operation, task_id=one)
                if operation["action"] == "delete":
                    ids.remove(one)
        assert plan.check() == []

    copy = plans.location("postgresql", "copy")
    plan.copy_to(open_store(copy), lambda: None)

    kept, fresh = (_words_of(one) for one in (plans.location("postgresql"), copy))
    assert kept == fresh
    assert len(kept) == len({row[0] for row in kept}) > 20
    assert {row[1] for row in kept} >= {0, 1}
    assert {row[2] for row in kept} == {True, False}


def _related(chance: random.Random, ids: list[str]) -> dict[str, Any]:
    """An edit of any kind, some of which cannot be done."""
    fields = {
        "blockers": chance.sample(ids, chance.randint(0, 1)),
        "subtask_of": chance.choice([None, *ids]),
        "priority": chance.randint(1, 5),
        "due_date": chance.choice([None, "2026-12-01", "2027-01-15"]),
    }
    if chance.random() < 0.5:
        return random_edit(chance, 9_000)
    if chance.random() < 0.1:
        return {"action": "undo"}
    name = chance.choice([*fields])
    return {"action": "update", name: fields[name]}


def _words_of(location: Location) -> list[tuple[Any, ...]]:
    """All that the index of words and the order know of tasks, by their numbers."""
    columns = "number, unblocks, is_ready, sort_key, tsvector_to_array(words)"
    with psycopg.connect(location.url, options=f"-c search_path={location.schema}") as server:
        return server.execute(f"SELECT {columns} FROM words ORDER BY number".encode()).fetchall()
