"""Plans with thousands of matches: other ways through SQL, the same answers as from JSON."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_host_tasky.service import Caller, Search, Tasks
from mcp_host_tasky.storage.postgres import frequency, limits, searching
from mcp_host_tasky.storage.sql import view as sql_view
from mcp_host_tasky.storage.sqlite import searching as sqlite_searching
from tasky_lab import ME, Clock, Ids, Plans, Searched

KINDS = ("sqlite", "json", "postgresql")
COUNT = 3_000  # more than are fetched and sorted at once

# One worker makes the plans, for all of these.
pytestmark = pytest.mark.xdist_group("tasky_large")


@pytest.fixture(scope="module")
def stores(
    tmp_path_factory: pytest.TempPathFactory, database: str
) -> Iterator[list[Tasks | Searched]]:
    """The same large plan on every kind of store."""
    chance = random.Random(3)
    items = []
    for number in range(COUNT):
        item: dict[str, Any] = {
            "ref": str(number),
            "name": f"update {chance.choice(['red', 'green'])} {number}",
            "details": "server " + ("even" if number % 2 else "odd"),
            "priority": chance.randint(1, 5),
            "tags": [chance.choice(["a", "b"]), *(["early"] if number < 2_500 else [])],
        }
        if chance.random() < 0.7:
            item["due_date"] = f"2026-12-{chance.randint(1, 28):02}"
        if number % 10 == 9:
            item["blockers"] = [str(chance.randrange(number))]
        items.append(item)
    all_stores: list[Tasks | Searched] = []
    clock = Clock()
    for kind in KINDS:
        folder: Path = tmp_path_factory.mktemp(kind)
        tasks = Plans(folder, lambda: database, clock, Ids()).open(kind)
        made = tasks.create(items, ME)
        ids = [str(view["task_id"]) for view in made]
        edits = [{"task_id": one, "action": "complete"} for one in ids[::3]]
        tasks.edit([*edits, *({"task_id": one, "action": "cancel"} for one in ids[1:900:3])], ME)
        tasks.edit([{"task_id": one, "action": "claim"} for one in ids[2:600:3]], Caller("ann"))
        all_stores.append(Searched(tasks) if kind == "json" else tasks)
    yield all_stores
    for tasks in all_stores:
        tasks.close()


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"status": "pending"},
        {"search": "update"},
        {"search": "upd serv"},
        {"search": "update server", "status": "pending"},
        {"search": "update red", "status": "completed", "priority": 2},
        {"search": "even odd"},
        {"search": "update 59"},
        {"search": "even 59", "status": "completed", "due_before": "2026-12-20"},
        {"search": "even", "tags": ["b"], "due_before": "2026-12-20"},
        {"search": "2999"},
        {"ready": True},
        {"ready": True, "search": "server green", "tags": ["a"]},
        {"tags": ["a", "b"]},
        {"tags": ["a", "early"]},
        {"search": "red", "tags": ["a"]},
        {"search": "even", "tags": ["early"], "status": "pending"},
        {"search": "odd", "claimed_by": "ann"},
        {"tags": ["a"], "priority": 1},
        {"due_before": "2026-12-02", "status": "pending"},
        {"due_before": "2026-12-27"},
        {"created_after": "yesterday", "status": "cancelled"},
        {"created_after": "tomorrow"},
    ],
    ids=str,
)
def test_a_search_walks_through_the_same_pages(
    stores: list[Tasks | Searched], wanted: dict[str, Any]
) -> None:
    cursors: list[str | None] = [None for _ in stores]
    total, seen = None, 0
    for _ in range(4):
        pages = [
            tasks.search(Search(**wanted, limit=200, cursor=cursor), Caller("ben"))
            for tasks, cursor in zip(stores, cursors, strict=True)
        ]
        assert all(page.rows == pages[0].rows for page in pages)
        assert all(page.total == pages[0].total for page in pages)
        total, seen = pages[0].total, seen + len(pages[0].rows)
        cursors = [page.next_cursor for page in pages]
        if None in cursors:
            assert set(cursors) == {None}
            assert seen == total
            break
    else:
        assert total is not None
        assert total >= 800


WAYS = {
    "all that have the words are gathered": {"GATHERED": 5_000},
    "lists are walked past": {"GATHERED": 5_000, "SORTED": 0, "ENTRIES": 1_000_000},
    "texts are read on the walk": {"GATHERED": 60, "READ": 5_000},
    "texts are read, then all that have the words are gathered": {"GATHERED": 60, "READ": 0},
    "texts of what is due are read": {"GATHERED": 100, "FEW": 2_500, "READ": 5_000},
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(
    "wanted",
    [
        {"search": "update"},
        {"search": "upd serv", "status": "pending"},
        {"search": "server", "ready": True, "tags": ["a"]},
        {"search": "upd", "tags": ["a", "early"]},
        {"search": "red even", "tags": ["early"], "due_before": "2026-12-20"},
        {"tags": ["early"], "priority": 3},
        {"search": "server", "tags": ["b"], "ready": True, "sort": "unblocks"},
        {"search": "even odd", "ready": True, "sort": "unblocks"},
        {"tags": ["a"], "ready": True, "sort": "unblocks", "priority": 2},
        {"search": "upd red", "ready": True, "sort": "unblocks"},
    ],
    ids=str,
)
@pytest.mark.parametrize("few", [20, 300])
def test_every_way_to_what_has_words_and_tags_finds_the_same_pages(
    stores: list[Tasks | Searched],
    wanted: dict[str, Any],
    way: dict[str, int],
    few: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Which way is gone is set for plans of a million; here for thousands."""
    for name, value in ({"FEW": few, "READ_AT_ONCE": 60} | way).items():
        monkeypatch.setattr(sqlite_searching, name, value)
    listed = 100 if way["GATHERED"] <= 100 else 2_600
    ways = {"LISTED": listed, "TAG_LISTED": listed, "WALKED": listed, "CANDIDATES": listed}
    ways |= {"FEW": 100, "SORTED": 500, "SAMPLE": 100, "TEXTS": 4_000}
    for name, value in ways.items():
        monkeypatch.setattr(limits, name, value)

    cursors: list[str | None] = [None for _ in stores]
    for number in range(3):
        pages = [
            tasks.search(Search(**wanted, cursor=cursor), Caller("ben"))
            for tasks, cursor in zip(stores, cursors, strict=True)
        ]
        assert all(page.rows == pages[0].rows for page in pages)
        cursors = [page.next_cursor for page in pages]
        assert number > 0 or len(pages[0].rows) == (50 if wanted.get("search") != "even odd" else 0)
        if cursors[0] is None:
            assert set(cursors) == {None}
            break


def test_of_a_beginning_of_several_words_the_total_is_no_guess(
    plans: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL some texts are read to guess; here the oldest alone have the words."""
    plan = plans.open("postgresql")
    oldest = [{"name": f"{('xyzabcd', 'xyzabef')[number % 2]} {number}"} for number in range(100)]
    plan.create([*oldest, *({"name": f"other {number}"} for number in range(1_100))], ME)
    for room in (frequency, searching, sql_view):
        monkeypatch.setattr(room, "COUNTED", 150)
    monkeypatch.setattr(limits, "SURE", 0)
    monkeypatch.setattr(limits, "SAMPLE", 200)

    found = plan.search(Search(search="xyzab"), ME)

    assert (found.total, found.has_more) == (100, False)


@pytest.mark.parametrize(
    ("having", "said"),
    [(range(0, 1_200, 2), (40, True)), (range(30), (30, False)), (range(1_150, 1_200), (40, True))],
    ids=["half of the tasks", "the oldest", "the newest"],
)
def test_of_two_words_together_a_total_that_is_counted_no_further_is_true(
    having: range, said: tuple[int, bool], plans: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL that more have them than are counted is told by texts from all over the plan,
    where it is beyond doubt, and else by a list."""
    plan = plans.open("postgresql")
    names = ["red fox" if number in having else "red hen" for number in range(1_200)]
    plan.create([{"name": f"{name} {number}"} for number, name in enumerate(names)], ME)
    for room in (frequency, searching, sql_view):
        monkeypatch.setattr(room, "COUNTED", 40)
    monkeypatch.setattr(limits, "SURE", 0)
    monkeypatch.setattr(limits, "SAMPLE", 200)

    found = plan.search(Search(search="red fox", limit=5), ME)

    assert (found.total, found.has_more) == said
    assert len(found.rows) == 5


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_total_follows_what_another_process_writes(
    kind: str, plans: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts that were drawn from all over the plan are remembered, until one task in a hundred may
    have changed."""
    plan, other = plans.open(kind), plans.open(kind)
    made = plan.create([{"name": f"reddish fox {number}"} for number in range(1_200)], ME)
    for room in (frequency, searching, sql_view, sqlite_searching):
        monkeypatch.setattr(room, "COUNTED", 40)
    monkeypatch.setattr(sqlite_searching, "GATHERED", 35)
    monkeypatch.setattr(sqlite_searching, "MANY", 40)
    monkeypatch.setattr(sql_view, "EXPANSIONS", 0)
    monkeypatch.setattr(limits, "SURE", 0)
    red = Search(search="reddi fox", limit=5)
    before = plan.search(red, ME)

    for at in range(30, 1_200, 195):
        ids = [str(view["task_id"]) for view in made[at : at + 195]]
        other.edit([{"action": "update", "task_id": one, "name": "grey"} for one in ids], ME)
    after = plan.search(red, ME)

    assert (before.total, before.has_more) == (40, True)
    assert (after.total, after.has_more) == (30, False)
    assert len(after.rows) == 5


POSTGRES_WAYS = {
    "as a plan of thousands is searched": {},
    "long lists are sooner made than texts looked up": {
        "FEW": 30,
        "SORTED": 20,
        "QUICK": 100_000,
        "SURE": 9_000,
    },
    "few are listed": {
        "FEW": 30,
        "SORTED": 40,
        "LISTED": 40,
        "QUICK": 0,
        "TAG": 10,
        "TAG_LISTED": 10,
        "SURE": 10,
        "FOLLOWED": 200,
        "PASSED": -1,
        "PASSED_FOR_EACH": -1,
        "CANDIDATES": 50,
        "DATED": 80,
        "MONTHS": 0,
    },
    "texts are looked up on walks": {
        "FEW": 30,
        "QUICK": 0,
        "LIST_TAKES": 1_000_000,
        "SORTED": 0,
        "WALKED": 100,
        "TEXTS": 50,
    },
    "walks end soon": {
        "FEW": 30,
        "SORTED": 0,
        "LISTED": 0,
        "QUICK": 0,
        "STEPS": 100,
        "LOOKED_AT": 60,
        "FOLLOWED": 60,
        "PASSED": -1,
        "PASSED_FOR_EACH": -1,
        "CANDIDATES": 0,
    },
}


@pytest.mark.parametrize("dated", [10_000, 100, 0])
@pytest.mark.parametrize("due", [None, "2026-12-20"])
@pytest.mark.parametrize("created", [None, "yesterday", "tomorrow"])
@pytest.mark.parametrize("others", [{}, {"status": "pending"}, {"priority": 4}], ids=str)
def test_postgresql_has_the_pages_of_json_where_a_date_leaves_many(
    stores: list[Tasks | Searched],
    dated: int,
    due: str | None,
    created: str | None,
    others: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ways = {"DATED": dated, "FOLLOWED": 10, "FEW": 5}
    if dated:
        ways |= {"PASSED": -1, "PASSED_FOR_EACH": -1}
    for name, value in ways.items():
        monkeypatch.setattr(limits, name, value)
    kept, asked = stores[KINDS.index("json")], stores[KINDS.index("postgresql")]
    wanted: dict[str, Any] = {"due_before": due, "created_after": created, **others}
    cursors: list[str | None] = [None, None]
    for _ in range(3):
        one, two = (
            tasks.search(Search(**wanted, cursor=cursor), ME)
            for tasks, cursor in zip((kept, asked), cursors, strict=True)
        )
        assert one.rows == two.rows
        cursors = [one.next_cursor, two.next_cursor]
        if cursors[0] is None:
            assert cursors[1] is None
            break


@pytest.mark.parametrize("way", POSTGRES_WAYS.values(), ids=POSTGRES_WAYS)
@pytest.mark.parametrize("seed", range(3))
def test_postgresql_finds_what_json_finds_for_every_combination(
    stores: list[Tasks | Searched], way: dict[str, int], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in way.items():
        monkeypatch.setattr(limits, name, value)
    chance = random.Random(seed)
    kept, asked = stores[KINDS.index("json")], stores[KINDS.index("postgresql")]
    words = [
        None,
        "red",
        "even",
        "update",
        "59",
        "upd",
        "even odd",
        "red green",
        "update ev",
        "2999",
    ]
    for _ in range(40):
        wanted: dict[str, Any] = {
            "search": chance.choice(words),
            "tags": chance.choice([(), (), ("a",), ("b",), ("early",), ("a", "early")]),
            "priority": chance.choice([None, None, None, 1, 4]),
            "due_before": chance.choice([None, None, "2026-12-03", "2026-12-20"]),
            "created_after": chance.choice([None, None, None, "yesterday", "tomorrow"]),
            "claimed_by": chance.choice([None, None, None, None, "ann", "*"]),
            "waiting": chance.random() < 0.1,
        }
        if chance.random() < 0.5:
            wanted |= {"ready": True, "sort": chance.choice([None, "unblocks"])}
        else:
            wanted["status"] = chance.choice([None, "pending", "completed", "cancelled"])
        pages = [kept.search(Search(**wanted), ME), asked.search(Search(**wanted), ME)]
        assert pages[0].rows == pages[1].rows, wanted
        # A count may end earlier than that of a small store, and says so then.
        first, second = pages
        assert second.total == first.total or (second.has_more and second.total < first.total)
        if first.next_cursor:
            assert second.next_cursor, wanted
            cursors = [first.next_cursor, second.next_cursor]
            following = [
                store.search(Search(**wanted, cursor=cursor), ME).rows
                for store, cursor in zip((kept, asked), cursors, strict=True)
            ]
            assert following[0] == following[1], wanted


def test_a_page_of_fifty_is_at_most_seven_thousand_bytes(stores: list[Tasks | Searched]) -> None:
    import json

    rows = stores[0].search(Search(status="completed"), ME).rows
    named = [{**row, "name": "x" * 20, "due_date": "2026-12-01"} for row in rows]

    assert len(rows) == 50
    assert len(json.dumps(named, separators=(",", ":"))) <= 7_168
