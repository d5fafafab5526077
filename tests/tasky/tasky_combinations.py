"""A plan with something of everything, every combination of conditions, and random edits."""

import itertools
import random
from datetime import date, timedelta
from typing import Any

import pytest
from mcp_host_tasky.service import Caller, Search, Tasks
from tasky_lab import ME, Clock, Ids, Plans, Searched

COUNT = 1_200
TAGS = ["home", "field work", "field-work", "a·b", "a-b", "§x", "Ärger", "工作", "rare"]
WORDS = ["update", "server", "serve", "servant", "upset", "up", "grün", "任务列表", "rare"]


def plan_of_all(folders: pytest.TempPathFactory, database: str) -> dict[str, Tasks]:
    """Make the same plan on each kind of store."""
    chance = random.Random(5)
    items = [_item(number, chance) for number in range(COUNT)]
    stores = {}
    clock = Clock()
    for kind in ("sqlite", "json", "postgresql"):
        plans = Plans(folders.mktemp(kind), lambda: database, clock, Ids())
        tasks = plans.open(kind)
        clock.now = Clock().now
        ids: list[str] = []
        for start in range(0, COUNT, 300):
            made = tasks.create(items[start : start + 300], ME)
            ids += [str(view["task_id"]) for view in made]
            clock.forward(days=1)
        tasks.edit([{"task_id": one, "action": "complete"} for one in ids[::4]], ME)
        tasks.edit([{"task_id": one, "action": "cancel"} for one in ids[1::12]], ME)
        waiting = [
            {"task_id": one, "action": "update", "add_blockers": [ids[at // 7]]}
            for at, one in enumerate(ids)
            if at % 9 == 8
        ]
        tasks.edit(waiting, ME)
        claims = [
            {"task_id": one, "action": "claim", "lease_seconds": 86_400} for one in ids[2::16]
        ]
        tasks.edit(claims, Caller("ann"))
        stores[kind] = tasks
    return stores


def _item(number: int, chance: random.Random) -> dict[str, Any]:
    words = [word for at, word in enumerate(WORDS) if chance.random() < 0.8 / (at + 1)]
    tags = [tag for at, tag in enumerate(TAGS) if chance.random() < 0.6 / (at + 1)]
    item = {"name": " ".join([*words, f"task {number}"]), "tags": tags}
    if chance.random() < 0.6:
        # Some are late when they are created.
        item["due_date"] = f"{date(2026, 11, 15) + timedelta(days=chance.randint(0, 40))}"
    return {**item, "priority": chance.choice([1, 2, 3, 3, 3, 5])}


CONDITIONS: dict[str, list[Any]] = {
    "search": [None, "update", "upd", "serv", "up", "server upd", "rare", "任务列", "gru", "none"],
    "tags": [(), ("home",), ("field work",), ("home", "a·b"), ("rare",), ("field-work", "home")],
    "status": [None, None, "pending", "completed"],
    "priority": [None, None, 1, 3],
    "due_before": [None, None, "2026-11-23", "2026-12-18"],
    "created_after": [None, None, "2026-11-22", "2026-11-24"],
    "more": [
        {},
        {"ready": True},
        {"ready": True, "sort": "unblocks"},
        {"claimed_by": "ann"},
        {"waiting": True},
    ],
}
EVERY = list(itertools.product(*CONDITIONS.values()))
NO_WORDS = [one for one in EVERY if not one[0] and not one[1]]


def find_the_same(asked: Tasks, kept: Searched, way: dict[str, int], count: int) -> None:
    """Ask two stores for pages of so many combinations of conditions, of four times as many that
    all ways have."""
    chance = random.Random(count)
    with_any, without = chance.sample(EVERY, 4 * count), chance.sample(NO_WORDS, count)
    chance = random.Random(str(way))
    for chosen in [*chance.sample(with_any, count), *chance.sample(without, count // 4)]:
        *conditions, more = chosen
        wanted = dict(zip(CONDITIONS, conditions, strict=False)) | more
        cursors: list[str | None] = [None, None]
        for _ in range(3):
            found, expected = [
                tasks.search(Search(**wanted, limit=20, cursor=cursor), Caller("ben"))
                for tasks, cursor in zip((asked, kept), cursors, strict=True)
            ]
            assert found.rows == expected.rows, wanted
            if found.has_more:
                assert len(found.rows) <= found.total <= expected.total, wanted
            else:
                assert found.total == expected.total, wanted
            cursors = [found.next_cursor, expected.next_cursor]
            if cursors[0] is None:
                break
        assert (cursors[0] is None) == (cursors[1] is None), wanted


def random_task(chance: random.Random, longest: int) -> dict[str, Any]:
    stems = ["abc", "abd", "äbc", "xyz", "q", "ab", "日本語", "aaaa"]
    lengths = [0, 0, 1, 2, longest // 20, longest]
    words = [
        chance.choice(stems) + chance.choice("abc") * chance.choice(lengths)
        for _ in range(chance.randint(0, 5))
    ]
    tags = chance.sample(TAGS, chance.randint(0, 3))
    # A name loses words whose beginnings the details still have.
    name = f"task {chance.random()} {chance.choice(stems)}{chance.choice('abc')}"
    return {"name": name, "details": " ".join(words)[:40_000], "tags": tags}


def random_edit(chance: random.Random, longest: int) -> dict[str, Any]:
    fields = random_task(chance, longest)
    name = chance.choice([*fields, "status", "delete"])
    if name == "delete":
        return {"action": "delete"}
    fields["status"] = chance.choice(["pending", "completed"])
    return {"action": "update", name: fields[name]}
