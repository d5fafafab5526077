"""`kill -9` at any moment: the store opens, holds what was confirmed, and nothing half done."""

import multiprocessing
import random
import time
from contextlib import suppress
from pathlib import Path

import pytest
from mcp_host_tasky.service import Plan, Search, Tasks
from mcp_host_tasky.storage import Location, open_store
from tasky_lab import ME, everything, write_pairs


@pytest.mark.parametrize("kind", ["sqlite", "json"])
def test_six_kills_lose_nothing_that_was_confirmed(kind: str, tmp_path: Path) -> None:
    kill_often(Location(kind, tmp_path / "plan"), rounds=6, seed=1)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(2, 12))
@pytest.mark.parametrize("kind", ["sqlite", "json", "postgresql"])
def test_three_thousand_kills_lose_nothing_that_was_confirmed(
    kind: str, seed: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if kind == "postgresql":
        place = Location(kind, url=request.getfixturevalue("database"), schema=f"kills_{seed}")
    else:
        place = Location(kind, tmp_path / "plan")
    kill_often(place, rounds=100, seed=seed)


def kill_often(location: Location, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["mcp_host_tasky.storage.sqlite", "tasky_lab"])
    confirmed: set[int] = set()
    for number in range(rounds):
        ours, theirs = processes.Pipe(duplex=False)
        writer = processes.Process(target=write_pairs, args=(location, number * 1_000, theirs))
        writer.start()
        theirs.close()
        confirmed.add(ours.recv())
        spin(chance.random() * 0.03)
        writer.kill()
        writer.join()
        with suppress(EOFError, OSError):  # the kill may have cut a message; that one is unsaid
            while True:
                confirmed.add(ours.recv())
        ours.close()
        check(location, confirmed)


def check(location: Location, confirmed: set[int]) -> None:
    store = open_store(location)
    with store.write():  # a database may still be about to commit what a killed client sent
        pass
    tasks = Tasks(store, Plan(name="Check"))
    views = everything(tasks)
    sides: dict[int, dict[str, int]] = {}
    for view in views:
        _, number, side = str(view["name"]).split()
        priority = view["priority"]
        assert isinstance(priority, int)
        sides.setdefault(int(number), {})[side] = priority
    assert confirmed <= sides.keys()
    assert all(set(pair) == {"a", "b"} and pair["a"] == pair["b"] for pair in sides.values())
    # Counters, index of words and events agree with the tasks.
    assert tasks.info()["total"] == len(views)
    assert tasks.search(Search(search="pair"), ME).total == len(views)
    edits = [one for one in tasks.history(limit=10**6) if one["action"] == "update"]
    assert len(edits) == sum(view["revision"] != 1 for view in views)
    tasks.close()


def spin(seconds: float) -> None:
    """Pass a random moment without giving up the processor: the kill should hit anywhere."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
