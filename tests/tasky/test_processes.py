"""Many processes on one plan, each through a server of its own."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mcp_host.testing import CallFailed, StdioClient, stdio_client
from mcp_host_tasky.storage import Home, open_store

PROCESSES = 4
WHOLE = 20  # so many tasks are answered whole
SERVER = [sys.executable, "-m", "tasky_mcp_server", "--stdio", "--log-level", "error"]


# One worker starts the servers of a store, for all of these.
pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("tasky_processes")]
POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.torture)


class Place(NamedTuple):
    """Where a plan is, and what the processes that use it are started with."""

    folder: Path
    environment: dict[str, str]

    def served(self) -> AbstractAsyncContextManager[StdioClient]:
        return stdio_client(SERVER, cwd=self.folder, environment=self.environment)


@pytest.fixture(scope="module", params=["sqlite", "json", POSTGRESQL])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Place:
    home = tmp_path_factory.mktemp("many")
    (home / "plan").mkdir()
    variables = {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "XDG_DATA_HOME": str(home)}
    store = request.param
    if store == "postgresql":
        store = request.getfixturevalue("database")
    project = Home.of_user(variables).init(home / "plan", store=store)
    open_store(project.location).close()
    return Place(home / "plan", variables)


@pytest.fixture(scope="module")
async def servers(place: Place) -> AsyncIterator[list[StdioClient]]:
    async with AsyncExitStack() as stack:
        starting = (stack.enter_async_context(place.served()) for _ in range(PROCESSES))
        yield [await one for one in starting]


async def test_every_write_that_reported_success_is_there(servers: list[StdioClient]) -> None:
    await write_at_once(servers, rounds=3)


@pytest.mark.torture
async def test_every_write_is_there_after_a_long_run(servers: list[StdioClient]) -> None:
    await write_at_once(servers, rounds=100)


async def write_at_once(servers: list[StdioClient], rounds: int) -> None:
    (shared,) = await servers[0].value("create_tasks", tasks=[{"name": "shared"}])

    async def write(number: int, client: StdioClient) -> list[str]:
        made = []
        for turn in range(rounds):
            tasks = [{"name": f"write {number} {turn} {side}"} for side in "ab"]
            made += [view["task_id"] for view in await client.value("create_tasks", tasks=tasks)]
            tag = {"action": "update", "task_id": made[-1], "tags": [f"by{number}"]}
            step = {"action": "update", "task_id": shared["task_id"], "name": f"{number} {turn}"}
            await client.value("edit_tasks", operations=[tag, step])
        return made

    written = await asyncio.gather(*(write(n, client) for n, client in enumerate(servers)))

    ids = [task_id for made in written for task_id in made]
    assert len(set(ids)) == PROCESSES * rounds * 2
    for client in (servers[0], servers[-1]):
        for start in range(0, len(ids), WHOLE):
            found = await client.value("get_tasks", task_ids=ids[start : start + WHOLE])
            assert [view["task_id"] for view in found] == ids[start : start + WHOLE]
            assert all(view["tags"] for view in found[1::2])
        # Each of the edits of the one shared task counted: none was lost in another.
        (one,) = await client.value("get_tasks", task_ids=[shared["task_id"]])
        assert one["revision"] == 1 + PROCESSES * rounds


async def test_a_hundred_claims_of_a_task_have_one_winner(servers: list[StdioClient]) -> None:
    (task,) = await servers[0].value("create_tasks", tasks=[{"name": "wanted"}])

    async def claim(number: int) -> str | None:
        operation = {"action": "claim", "task_id": task["task_id"], "agent": f"agent {number}"}
        try:
            (view,) = await servers[number % PROCESSES].value("edit_tasks", operations=[operation])
        except CallFailed as refused:
            assert refused.envelope["details"]["reason"] == "claimed"
            return None
        return str(view["claimed_by"])

    winners = [one for one in await asyncio.gather(*map(claim, range(100))) if one]

    assert len(winners) == 1
    (seen,) = await servers[-1].value("get_tasks", task_ids=[task["task_id"]])
    assert seen["claimed_by"] == winners[0]


async def test_a_reader_never_sees_half_of_a_bulk_edit(servers: list[StdioClient]) -> None:
    tasks = [{"name": f"half {n}", "tags": ["half"], "priority": 1} for n in range(30)]
    made = await servers[0].value("create_tasks", tasks=tasks)
    seen: list[set[int]] = []
    done = asyncio.Event()

    async def read(client: StdioClient) -> None:
        while not done.is_set():
            page: dict[str, Any] = await client.value("search_tasks", tags=["half"])
            seen.append({row["priority"] for row in page["result"]})
            views = await client.value("get_tasks", task_ids=[view["task_id"] for view in made])
            seen.append({view["priority"] for view in views})

    async def write() -> None:
        for turn in range(8):
            level = {"action": "update", "priority": turn % 5 + 1}
            operations = [{**level, "task_id": view["task_id"]} for view in made]
            await servers[turn % 2].value("edit_tasks", operations=operations)
        done.set()

    # A server's first call waits for what it loads: the readers must not come when all is written.
    await asyncio.gather(*(client.value("project_info") for client in servers))
    await asyncio.gather(write(), *(read(client) for client in servers[2:]))

    assert all(len(priorities) == 1 for priorities in seen)
    assert len(set.union(*seen)) > 1


async def test_a_call_that_ran_out_of_time_has_changed_nothing_and_may_be_sent_again(
    place: Place,
) -> None:
    settings = Path(place.environment["HOME"], ".tasky", "config.toml")
    settings.write_text('[done_conditions.slow]\nrun = ["sleep", "60"]\n')
    short = Place(place.folder, {**place.environment, "TASKY_MCP_TIMEOUT_SECONDS": "3"})
    async with short.served() as client:
        (task,) = await client.value(
            "create_tasks", tasks=[{"name": "slow", "done_when": ["slow"]}]
        )
        operation = {"action": "complete", "task_id": task["task_id"]}

        with pytest.raises(CallFailed) as refused:
            await client.value("edit_tasks", operations=[operation])

        envelope = refused.value.envelope
        assert (envelope["code"], envelope["retryable"]) == ("timeout", True)
        assert "nothing was changed" in envelope["error"]
        (seen,) = await client.value("get_tasks", task_ids=[task["task_id"]])
        assert seen["status"] == "pending"


async def test_who_comes_new_reads_the_plan_while_others_write_all_the_time(
    place: Place, servers: list[StdioClient]
) -> None:
    await servers[0].value("create_tasks", tasks=[{"name": f"old {n}"} for n in range(300)])
    has_read = asyncio.Event()

    async def write(client: StdioClient) -> None:
        while not has_read.is_set():
            await client.value("create_tasks", tasks=[{"name": "one more"}])

    async def come() -> int:
        try:
            async with asyncio.timeout(30), place.served() as new:
                await new.value("search_tasks")
                info = await new.value("project_info")
                return int(info["task_counts"]["pending"])
        finally:
            has_read.set()

    *_, seen = await asyncio.gather(*map(write, servers), come())

    assert seen >= 300
