"""Several servers on one database, each a process of its own: nothing is lost or doubled."""

import asyncio
import sys
from collections import Counter
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path

import pytest
from mcp_host.testing import CallFailed, StdioClient, stdio_client
from mcp_host_todo_db.storage import create_tables, read_url

pytestmark = pytest.mark.anyio

COMMAND = Path(sys.executable).with_name("todo-db-mcp")
ROUNDS = [(2, 15), pytest.param(8, 150, marks=pytest.mark.torture)]


@pytest.mark.parametrize(("servers", "rounds"), ROUNDS)
async def test_servers_that_write_at_once_lose_nothing(
    database_url: str, servers: int, rounds: int
) -> None:
    await create_tables(read_url(database_url))
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(alone(database_url)) for _ in range(servers)]
        shared = await clients[0].value("add_task", user_id="ann", title="shared")

        done = await asyncio.gather(
            *(work(client, shared["task_id"], n, rounds) for n, client in enumerate(clients))
        )

        flips = sum(done, Counter[str]())
        page = await clients[0].value("list_tasks", user_id="ann", limit=1)
        titles = await all_titles(clients[-1])
    assert flips == {"completed": -(-servers * rounds // 2), "pending": servers * rounds // 2}
    assert page["total"] == servers * rounds + 1
    assert titles == {"shared", *(f"{n}-{i}" for n in range(servers) for i in range(rounds))}


@pytest.mark.parametrize("rounds", [1, pytest.param(25, marks=pytest.mark.torture)])
async def test_what_was_answered_is_kept_when_the_server_is_killed(
    database_url: str, rounds: int
) -> None:
    await create_tables(read_url(database_url))
    answered: set[str] = set()
    for n in range(rounds):
        async with alone(database_url) as client:
            adding = [asyncio.create_task(add(client, f"{n}-{i}", answered)) for i in range(40)]
            await asyncio.wait(adding, return_when=asyncio.FIRST_COMPLETED)
            client.process.kill()
            await asyncio.gather(*adding, return_exceptions=True)

    async with alone(database_url) as client:
        kept = await all_titles(client)
        assert answered
        assert answered <= kept
        await client.value("add_task", user_id="ann", title="still writable")


def alone(url: str) -> AbstractAsyncContextManager[StdioClient]:
    return stdio_client([COMMAND], environment={"DATABASE_URL": url})


async def work(client: StdioClient, task_id: str, server: int, rounds: int) -> Counter[str]:
    """Flip the shared task and add one of its own, again and again; how the flips ended."""
    flips = Counter[str]()
    for n in range(rounds):
        flip, _ = await asyncio.gather(
            client.value("complete_task", user_id="ann", task_id=task_id),
            client.value("add_task", user_id="ann", title=f"{server}-{n}"),
        )
        flips[flip["status"]] += 1
    return flips


async def add(client: StdioClient, title: str, answered: set[str]) -> None:
    try:
        await client.value("add_task", user_id="ann", title=title)
    except CallFailed:
        return
    answered.add(title)


async def all_titles(client: StdioClient) -> set[str]:
    titles: list[str] = []
    cursor = None
    while True:
        more = {"cursor": cursor} if cursor else {}
        page = await client.value("list_tasks", user_id="ann", **more)
        titles += [task["title"] for task in page["result"]]
        cursor = page["next_cursor"]
        if cursor is None:
            assert len(titles) == len(set(titles)) == page["total"]
            return set(titles)
