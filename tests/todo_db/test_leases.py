"""Connections are handed from call to call: each to one at a time, and none is lost."""

import asyncio
import random
from typing import Any

import pytest
from mcp_host_todo_db.storage import leases
from mcp_host_todo_db.storage.leases import Leases

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Connection:
    """What a pool gives: whether it has ended, and whether that was read."""

    has_ended = False
    is_silent = True


class Pool:
    """As many connections as are asked for; it counts those that are out, and what was made."""

    def __init__(self, *, size: int = 2, patience: float = 60) -> None:
        self.out: set[Connection] = set()
        self.made = 0
        self.refuses = False
        self.leases = Leases(
            self.acquire,
            self.release,
            lambda connection: not connection.has_ended,
            lambda connection: connection.is_silent,
            size=size,
            patience=patience,
        )

    async def acquire(self) -> Connection:
        await asyncio.sleep(0)
        if self.refuses:
            raise OSError("nothing listens")
        self.made += 1
        connection = Connection()
        self.out.add(connection)
        return connection

    async def release(self, connection: Any) -> None:
        await asyncio.sleep(0)
        self.out.remove(connection)


async def test_the_next_call_has_the_connection_of_the_last() -> None:
    pool = Pool()
    first = await pool.leases.take()
    pool.leases.give(first)

    assert await pool.leases.take() is first
    assert pool.made == 1


async def test_one_that_waits_is_handed_the_connection_itself_and_in_turn() -> None:
    pool = Pool(size=1)
    first = await pool.leases.take()
    waiting = [asyncio.create_task(pool.leases.take()) for _ in range(2)]
    await asyncio.sleep(0)
    assert pool.leases.waiting == 2

    pool.leases.give(first)
    assert await waiting[0] is first
    assert not waiting[1].done()
    pool.leases.give(first)
    assert await waiting[1] is first


async def test_one_that_ended_while_it_rested_is_replaced() -> None:
    pool = Pool()
    first = await pool.leases.take()
    pool.leases.give(first)
    first.is_silent, first.has_ended = False, True

    assert await pool.leases.take() is not first
    assert len(pool.out) == 1


async def test_whoever_waits_too_long_is_told_and_takes_nobodys_place() -> None:
    pool = Pool(size=1, patience=0.01)
    first = await pool.leases.take()

    with pytest.raises(TimeoutError):
        await pool.leases.take()

    pool.leases.give(first)
    assert await pool.leases.take() is first


async def test_where_none_can_be_had_those_in_line_are_told_one_after_the_other() -> None:
    pool = Pool(size=1)
    pool.refuses = True

    told = await asyncio.gather(*(pool.leases.take() for _ in range(3)), return_exceptions=True)
    assert [type(one) for one in told] == [OSError] * 3

    pool.refuses = False
    assert await pool.leases.take() is not None


async def test_what_nobody_uses_goes_back_to_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "KEPT", 0.001)
    pool = Pool()
    both = [await pool.leases.take(), await pool.leases.take()]
    for one in both:
        pool.leases.give(one)

    async with asyncio.timeout(60):
        while pool.out:  # noqa: ASYNC110 - the leases' timer is on this loop
            await asyncio.sleep(0.001)
    assert pool.leases.resting == 0


async def test_expired_ones_go_back_also_those_that_are_used() -> None:
    pool = Pool()
    used, resting = await pool.leases.take(), await pool.leases.take()
    pool.leases.give(resting)
    pool.leases.expire()
    pool.leases.give(used)

    await pool.leases.close()
    assert not pool.out


@pytest.mark.parametrize("seed", range(20))
async def test_whatever_happens_each_is_used_by_one_and_every_place_comes_back(seed: int) -> None:
    chance = random.Random(seed)
    pool = Pool(size=3)
    used: set[Connection] = set()

    async def call() -> None:
        connection = await pool.leases.take()
        assert connection not in used
        used.add(connection)
        try:
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            used.remove(connection)
            await pool.leases.give_up(connection)
            raise
        used.remove(connection)
        connection.is_silent = chance.random() > 0.2
        connection.has_ended = chance.random() > 0.8
        if chance.random() > 0.1:
            pool.leases.give(connection)
        else:
            await pool.leases.give_up(connection)

    tasks = []
    for _ in range(200):
        tasks.append(asyncio.create_task(call()))
        if chance.random() > 0.7:
            chance.choice(tasks).cancel()
        if chance.random() > 0.97:
            pool.leases.expire()
        for _ in range(chance.randrange(3)):
            await asyncio.sleep(0)
        assert len(used) <= 3
    async with asyncio.timeout(60):
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(one) for one in ended} <= {type(None), asyncio.CancelledError}
        assert len({await pool.leases.take() for _ in range(3)}) == 3
