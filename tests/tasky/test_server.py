"""The server of its own, through real clients over stdio and HTTP: every scenario of its spec."""

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_host.testing import CallFailed, StdioClient, hosted, http_server, stdio_client
from mcp_host_tasky.storage import Home, open_store

pytestmark = pytest.mark.anyio

MODULE = [sys.executable, "-m", "tasky_mcp_server"]
STDIO = [*MODULE, "--stdio"]
FIVE = ["project_info", "create_tasks", "edit_tasks", "search_tasks", "get_tasks"]
Call = Callable[..., Any]


def variables(home: Path, **more: str) -> dict[str, str]:
    folders = {f"XDG_{kind}_HOME": str(home) for kind in ("CONFIG", "DATA", "CACHE")}
    return {"HOME": str(home), "TZ": "UTC", **folders, **more}


def make(place: Path, store: str = "sqlite") -> Path:
    """Make a project in a folder below, and return the folder."""
    folder = place / "plan"
    folder.mkdir()
    home = Home.of_user(variables(place))
    project = home.init(folder, store=store, name="Groceries", description="What we eat")
    open_store(project.location).close()
    return folder


class Failed(Exception):
    def __init__(self, envelope: dict[str, Any]) -> None:
        super().__init__(envelope)
        self.envelope = envelope


@pytest.fixture(
    scope="module",
    params=[(way, store) for way in ("stdio", "http") for store in ("sqlite", "json")],
    ids=lambda param: "-".join(param),
)
async def call(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Call]:
    """Call a tool and return the text's JSON, its parts in a list where there are several."""
    way, store = request.param
    place = tmp_path_factory.mktemp("server")
    folder = make(place, store)
    async with AsyncExitStack() as stack:
        if way == "stdio":
            client = await stack.enter_async_context(
                stdio_client(STDIO, cwd=folder, environment=variables(place))
            )

            async def ask(tool: str, arguments: dict[str, Any]) -> tuple[bool, list[str], Any]:
                result = await client.call(tool, **arguments)
                texts = [part["text"] for part in result["content"]]
                return result["isError"], texts, result.get("structuredContent")
        else:
            server = await stack.enter_async_context(
                http_server([*MODULE, "--port", "0"], cwd=folder, environment=variables(place))
            )
            session = await stack.enter_async_context(Client(server.url))

            async def ask(tool: str, arguments: dict[str, Any]) -> tuple[bool, list[str], Any]:
                result = await session.call_tool(tool, arguments)
                texts = [getattr(part, "text", "") for part in result.content]
                return bool(result.is_error), texts, result.structured_content

        async def call(tool: str, /, **arguments: Any) -> Any:
            is_error, texts, structured = await ask(tool, arguments)
            parts = [json.loads(text) for text in texts]
            if is_error:
                assert structured is None
                raise Failed(parts[0])
            assert structured == parts[0] or structured["result"] == parts[0]
            return parts[0] if len(parts) == 1 else parts

        yield call


async def test_claude_creates_a_task(call: Call) -> None:
    (made,) = await call("create_tasks", tasks=[{"name": "Buy groceries", "details": "Milk, eggs"}])

    assert uuid.UUID(made["task_id"]).version == 4
    assert made["status"] == "pending"
    assert made["created_at"] == made["updated_at"]
    assert made["details"] == "Milk, eggs"
    made.pop("undo_token", None)  # which only the caller of the write is told
    assert await call("get_tasks", task_ids=[made["task_id"]]) == [made]


async def test_claude_lists_tasks_with_filters_and_pages(call: Call) -> None:
    names = [f"urgent number {n:06}" for n in range(60)]
    made = await call("create_tasks", tasks=[{"name": name, "priority": 5} for name in names])
    await call("edit_tasks", operations=[{"id": made[0]["task_id"], "action": "complete"}])

    rows, rest = await call("search_tasks", status="pending", search="urgent")
    more = await call("search_tasks", status="pending", search="urgent", cursor=rest["next_cursor"])

    assert (len(rows), len(more)) == (50, 9)
    assert (rest["total"], rest["truncated"]) == (59, True)
    assert [row["name"] for row in [*rows, *more]] == names[1:]
    compact = {"task_id", "name", "status", "due_date", "priority"}
    assert set(rows[0]) == {*compact, "snippet"}
    page = (await call("search_tasks", status="pending"))[0]
    assert set(page[0]) == compact
    assert len(json.dumps(page, separators=(",", ":"))) <= 7_000
    assert all(len(row["name"]) == 20 for row in page)


async def test_a_search_tells_which_dates_it_understood(call: Call) -> None:
    rows, rest = await call("search_tasks", due_before="nov 28 2099", search="nowhere")
    plain = await call("search_tasks", due_before="2099-11-28", search="nowhere")

    assert rows == plain == []
    assert rest == {
        "total": 0,
        "truncated": False,
        "next_cursor": None,
        "due_before": "2099-11-28",
    }


async def test_claude_modifies_several_tasks_atomically(call: Call) -> None:
    tasks = [{"name": f"Step {n}"} for n in range(4)]
    ids = [view["task_id"] for view in await call("create_tasks", tasks=tasks)]
    operations = [{"id": ids[n], "action": "update", "priority": n + 1} for n in range(3)]

    edited = await call(
        "edit_tasks", operations=[*operations, {"id": ids[3], "action": "complete"}]
    )

    assert [view["priority"] for view in edited] == [1, 2, 3, 3]
    assert edited[3]["status"] == "completed"
    with pytest.raises(Failed) as failed:
        await call(
            "edit_tasks",
            operations=[{"id": ids[0], "action": "delete"}, {"id": ids[3], "action": "cancel"}],
        )
    (item,) = failed.value.envelope["details"]["items"]
    assert (item["index"], item["code"]) == (1, "conflict")
    assert f"Cannot transition task '{ids[3]}' from completed to cancelled." in item["error"]
    assert len(await call("get_tasks", task_ids=ids)) == 4
    deleted = await call("edit_tasks", operations=[{"task_id": ids[0], "action": "delete"}])
    undo = {key: deleted[0].pop(key) for key in ("event_id", "undo_token") if key in deleted[0]}
    assert deleted == [{"task_id": ids[0], "status": "deleted"}]
    await call("edit_tasks", operations=[{"action": "undo", **undo}])
    assert len(await call("get_tasks", task_ids=ids)) == 4


async def test_claude_understands_dependencies(call: Call) -> None:
    plan = [
        {"ref": "a", "name": "Foundation"},
        {"ref": "b", "name": "Walls", "blockers": ["a"]},
        {"ref": "c", "name": "Door", "subtask_of": "b"},
    ]
    a, b, c = (view["task_id"] for view in await call("create_tasks", tasks=plan))

    (walls,) = await call("get_tasks", task_ids=[b[:13]])

    assert (walls["blockers"], walls["blocked_by"]) == ([a], [a])
    assert (walls["subtasks"], walls["subtask_of"]) == ([c], None)
    ready = await call("search_tasks", ready=True, search="walls")
    assert ready == []


async def test_claude_learns_the_projects_scope(call: Call) -> None:
    info = await call("project_info")

    assert (info["name"], info["description"]) == ("Groceries", "What we eat")
    assert info["available_statuses"] == ["pending", "completed", "cancelled"]
    assert set(info["task_counts"]) == set(info["available_statuses"])


@pytest.mark.parametrize(
    ("tool", "arguments", "reason", "says"),
    [
        ("get_tasks", {"task_ids": ["bad id"]}, "invalid_id", "UUID"),
        ("search_tasks", {"status": "open"}, "invalid_status", "pending, completed, cancelled"),
        ("search_tasks", {"due_before": "soonish"}, "invalid_date", "ISO 8601"),
        ("search_tasks", {"priority": 9}, "invalid_priority", "1 to 5"),
        ("create_tasks", {"tasks": []}, "no_items", ""),
        ("get_tasks", {"ids": ["abcd"]}, "invalid_arguments", "'task_ids' instead of 'ids'"),
        ("get_tasks", {"task_ids": "abcd"}, "invalid_arguments", "as an array, as in"),
        ("search_tasks", {"due_after": "friday"}, "invalid_arguments", "'due_before' instead"),
        ("search_tasks", {"limit": "20"}, "invalid_arguments", "'limit' as a number"),
        (
            "edit_tasks",
            {"operations": [{"action": "undo", "event_id": 10**9}]},
            "event_not_found",
            "",
        ),
    ],
)
async def test_invalid_input_is_rejected_with_what_is_right(
    call: Call, tool: str, arguments: dict[str, Any], reason: str, says: str
) -> None:
    with pytest.raises(Failed) as failed:
        await call(tool, **arguments)

    envelope = failed.value.envelope
    assert envelope["code"] in ("validation_error", "not_found")
    assert envelope["success"] is False
    assert envelope["details"]["reason"] == reason
    assert says in str(envelope.get("suggestions", ""))
    assert uuid.UUID(envelope["request_id"])


async def test_many_requests_at_once_are_all_done(call: Call) -> None:
    async def one(number: int) -> str:
        (view,) = await call("create_tasks", tasks=[{"name": f"at once {number}"}])
        return str(view["task_id"])

    ids = await asyncio.gather(*map(one, range(40)))

    assert len(await call("get_tasks", task_ids=ids)) == len(set(ids)) == 40


@pytest.fixture
async def alone(tmp_path: Path) -> AsyncIterator[StdioClient]:
    async with stdio_client(STDIO, cwd=make(tmp_path), environment=variables(tmp_path)) as client:
        yield client


async def test_two_hundred_creates_at_once_wait_for_their_turn(alone: StdioClient) -> None:
    async def one(number: int) -> str:
        (view,) = await alone.value("create_tasks", tasks=[{"name": f"at once {number}"}])
        return str(view["task_id"])

    ids = await asyncio.gather(*map(one, range(200)))

    assert len(set(ids)) == 200


async def test_there_are_exactly_five_tools_and_their_list_is_small(alone: StdioClient) -> None:
    tools = await alone.tools()

    assert [tool["name"] for tool in tools] == FIVE
    listed = json.dumps({"tools": tools}, separators=(",", ":"), ensure_ascii=False)
    assert len(listed.encode()) / 4 < 2_000


async def test_resources_are_markdown_and_tell_of_changes(alone: StdioClient) -> None:
    plan = [{"name": "Cook", "ref": "c"}, {"name": "Eat", "blockers": ["c"]}]
    cook, eat = (view["task_id"] for view in await alone.value("create_tasks", tasks=plan))
    project = (await alone.read("tasky://project"))[0]
    task = (await alone.read(f"tasky://tasks/{eat[:8]}"))[0]
    assert project["mimeType"] == task["mimeType"] == "text/markdown"
    assert "# Groceries" in project["text"]
    assert "Cook" in project["text"].partition("## Ready")[2]
    assert f"## Waits for\n\n- `{cook[:8]}` Cook (pending)" in task["text"]
    for uri in ("tasky://project", f"tasky://tasks/{eat}"):
        await alone.request("resources/subscribe", {"uri": uri})

    # Eat itself is not touched: what it waits for is.
    await alone.value("edit_tasks", operations=[{"task_id": cook, "action": "complete"}])

    updated = await alone.notified("notifications/resources/updated", 2)
    assert {one["params"]["uri"] for one in updated} == {"tasky://project", f"tasky://tasks/{eat}"}
    with pytest.raises(CallFailed) as missing:
        await alone.read("tasky://tasks/ffffffff")
    assert "no task" in str(missing.value)


async def test_another_process_writing_is_told_to_watchers(tmp_path: Path) -> None:
    folder, env = make(tmp_path), variables(tmp_path)
    async with (
        stdio_client(STDIO, cwd=folder, environment=env) as watcher,
        stdio_client(STDIO, cwd=folder, environment=env) as writer,
    ):
        await watcher.value("project_info")
        await watcher.request("resources/subscribe", {"uri": "tasky://project"})

        await writer.value("create_tasks", tasks=[{"name": "From elsewhere"}])

        await watcher.notified("notifications/resources/updated")


async def test_prompts_name_the_tools_and_what_is_ready(alone: StdioClient) -> None:
    await alone.value("create_tasks", tasks=[{"name": "Wash up"}])

    listed = await alone.request("prompts/list")
    plan = await alone.request(
        "prompts/get", {"name": "tasky-plan", "arguments": {"goal": "A feast"}}
    )
    following = await alone.request("prompts/get", {"name": "tasky-next"})

    assert [one["name"] for one in listed["prompts"]] == ["tasky-plan", "tasky-next"]
    said = plan["messages"][0]["content"]["text"]
    assert "A feast" in said
    assert "create_tasks" in said
    assert "Wash up" in following["messages"][0]["content"]["text"]


async def test_a_missing_project_is_told_until_it_is_made(tmp_path: Path) -> None:
    (tmp_path / "plan").mkdir()
    env = variables(tmp_path)
    async with stdio_client(STDIO, cwd=tmp_path / "plan", environment=env) as client:
        assert len(await client.tools()) == 5
        with pytest.raises(CallFailed) as missing:
            await client.value("project_info")
        assert missing.value.code == "unavailable"
        assert missing.value.envelope["retryable"] is False  # a person must make it first
        assert "tasky project init" in str(missing.value.envelope["suggestions"])

        project = Home.of_user(env).init(tmp_path / "plan", store="json", name="Now")
        open_store(project.location).close()

        assert (await client.value("project_info"))["name"] == "Now"


async def test_a_call_that_takes_too_long_ends_as_a_timeout_and_keeps_nothing(
    tmp_path: Path,
) -> None:
    folder = make(tmp_path)
    env = variables(tmp_path, TASKY_MCP_TIMEOUT_SECONDS="0.05")
    async with stdio_client(STDIO, cwd=folder, environment=env) as client:
        tasks = [{"name": f"Task {n}"} for n in range(8_000)]
        with pytest.raises(CallFailed) as late:
            await client.value("create_tasks", tasks=tasks)

        assert late.value.code == "timeout"
        assert uuid.UUID(late.value.envelope["request_id"])
    async with stdio_client(STDIO, cwd=folder, environment=variables(tmp_path)) as client:
        assert (await client.value("project_info"))["total"] == 0


async def test_a_request_can_be_followed_through_the_log(tmp_path: Path) -> None:
    argv = [*STDIO, "--log-format", "json"]
    async with stdio_client(argv, cwd=make(tmp_path), environment=variables(tmp_path)) as client:
        with pytest.raises(CallFailed) as failed:
            await client.value("get_tasks", task_ids=["x"])
        request_id = failed.value.envelope["request_id"]

        await client.said(request_id)

        lines = [json.loads(line) for line in client.stderr.splitlines() if request_id in line]
        assert lines[0]["tool"] == "get_tasks"


async def test_the_projects_logging_settings_are_honoured(tmp_path: Path) -> None:
    folder = make(tmp_path)
    config = folder / ".tasky" / "config.toml"
    config.write_text(config.read_text() + '\n[logging]\nverbosity = 1\nformat = "json"\n')
    async with stdio_client(STDIO, cwd=folder, environment=variables(tmp_path)) as client:
        await client.value("project_info")
        await client.said('"project_info"')

        lines = [line for line in client.stderr.splitlines() if "project_info" in line]
        assert json.loads(lines[0])["tool"] == "project_info"


async def test_variables_of_the_existing_server_are_honoured(tmp_path: Path) -> None:
    folder = make(tmp_path)
    env = variables(
        tmp_path, TASKY_MCP_PORT="0", TASKY_MCP_HOST="localhost", TASKY_MCP_PROJECT_PATH=str(folder)
    )
    async with http_server(MODULE, cwd=tmp_path, environment=env) as server:
        async with Client(server.url) as client:
            info = await client.call_tool("project_info", {})
            assert (info.structured_content or {})["name"] == "Groceries"

        assert "localhost" in server.url or "127.0.0.1" in server.url
        assert await server.signal(signal.SIGTERM) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_the_server_gracefully(tmp_path: Path, number: signal.Signals) -> None:
    folder, env = make(tmp_path), variables(tmp_path)
    async with http_server([*MODULE, "--port", "0"], cwd=folder, environment=env) as server:
        assert await server.signal(number) == 0


async def test_every_address_is_refused_without_tokens_and_both_ways_out_are_named(
    tmp_path: Path,
) -> None:
    env = variables(tmp_path, TASKY_MCP_HOST="0.0.0.0")
    process = await asyncio.create_subprocess_exec(
        *MODULE,
        cwd=make(tmp_path),
        env={"PATH": "", **env},
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()

    assert process.returncode not in (0, None)
    assert b"tokens" in said
    assert b"allow_unauthenticated" in said


async def test_a_token_proves_who_claims(tmp_path: Path) -> None:
    config = tmp_path / "tasky.toml"
    config.write_text(
        '[[http.tokens]]\nsubject = "ann"\nscopes = ["tasky:write", "tasky:read"]\n'
        'token = { env = "ANN" }\n'
    )
    token = uuid.uuid4().hex * 2
    argv = [*MODULE, "--port", "0", "--config", str(config)]
    env = variables(tmp_path, ANN=token)
    async with http_server(argv, cwd=make(tmp_path), environment=env) as server:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(server.url, http_client=http)) as client,
        ):
            made = await client.call_tool("create_tasks", {"tasks": [{"name": "Mine"}]})
            task_id = (made.structured_content or {})["result"][0]["task_id"]
            claim = {"action": "claim", "task_id": task_id}
            forged = await client.call_tool(
                "edit_tasks", {"operations": [{**claim, "agent": "ben"}]}
            )
            held = await client.call_tool("edit_tasks", {"operations": [claim]})

    assert forged.is_error
    assert "permission_denied" in getattr(forged.content[0], "text", "")
    assert (held.structured_content or {})["result"][0]["claimed_by"] == "ann"


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
async def test_agents_over_http_share_no_identity(tmp_path: Path, mode: str) -> None:
    argv = [*MODULE, "--port", "0"]
    async with (
        http_server(argv, cwd=make(tmp_path), environment=variables(tmp_path)) as server,
        Client(server.url, mode=mode) as ann,
        Client(server.url, mode=mode) as ben,
    ):

        async def edit(client: Client, **operation: Any) -> tuple[str, dict[str, Any]]:
            result = await client.call_tool("edit_tasks", {"operations": [operation]})
            if result.is_error:
                envelope = json.loads(getattr(result.content[0], "text", ""))
                return envelope["details"]["reason"], {}
            return "done", (result.structured_content or {})["result"][0]

        made = await ann.call_tool("create_tasks", {"tasks": [{"name": "Dig"}, {"name": "Sow"}]})
        dig, sow = ((made.structured_content or {})["result"][n]["task_id"] for n in (0, 1))
        claim = {"action": "claim", "task_id": dig}
        races = await asyncio.gather(*(edit(one, **claim) for one in (ann, ben, ann, ben)))
        winners = [view for said, view in races if said == "done"]
        is_proven = mode == "legacy"  # a session proves who calls: the winner's claims are renewed

        assert len({view["claim_token"] for view in winners}) == 1
        assert len(winners) == (2 if is_proven else 1)
        token = winners[0]["claim_token"]
        complete = {"action": "complete", "task_id": dig}
        said = [(await edit(client, **complete, agent="x"))[0] for client in (ann, ben)]
        assert said == ["claimed", "claimed"]
        assert (await edit(ben, **complete, token=token))[0] == "done"
        undone, _ = await edit(ben, action="undo", task_id=sow)
        assert undone == ("done" if is_proven else "undo_token_required")
        rows = await ann.call_tool("search_tasks", {"ready": True})
        assert not rows.is_error


async def test_in_the_host_the_tools_carry_the_packs_prefix(tmp_path: Path) -> None:
    tables = {"packs": {"tasky": {"settings": {"root": str(make(tmp_path))}}}}
    async with hosted({"tasky": "mcp_host_tasky.plugin"}, tables) as host:
        assert host.names() == [f"tasky_{name}" for name in FIVE]
        assert host.names("prompts") == ["tasky-plan", "tasky-next"]
        assert "tasky_get_tasks" in host.listed("tasky_search_tasks")["description"]

        made = await host.value("tasky_create_tasks", tasks=[{"name": "Hosted"}])

        assert made[0]["name"] == "Hosted"
        error = await host.error("tasky_get_tasks", task_ids=["ffff"])
        assert (error["code"], error["details"]["reason"]) == ("not_found", "task_not_found")


async def test_a_plan_may_be_in_a_database_that_the_settings_name(
    tmp_path: Path, database: str
) -> None:
    settings = {"url": database, "schema": "shared_plan"}
    tables = {"packs": {"tasky": {"settings": settings}}}
    async with hosted({"tasky": "mcp_host_tasky.plugin"}, tables, root=tmp_path) as host:
        await host.value("tasky_create_tasks", tasks=[{"name": "Anywhere"}])

        info = await host.value("tasky_project_info")

        assert (info["name"], info["store"], info["total"]) == ("shared_plan", "postgresql", 1)


async def test_a_plan_that_moves_is_followed_by_servers_that_write(tmp_path: Path) -> None:
    folder, env = make(tmp_path), variables(tmp_path)
    command = str(Path(sys.executable).with_name("tasky"))
    answered: list[str] = []
    written, moved = asyncio.Semaphore(0), asyncio.Event()

    async def write(client: StdioClient, agent: str) -> None:
        for turn in itertools.count():
            if moved.is_set():
                return
            name = f"{agent} {turn}"
            await client.value("create_tasks", tasks=[{"name": name}])
            answered.append(name)
            written.release()

    async def move() -> None:
        for store in ("json", "sqlite"):
            for _ in range(20):
                await written.acquire()
            for file in (folder / ".tasky").glob("tasks.db*") if store == "sqlite" else ():
                file.unlink()
            mover = await asyncio.create_subprocess_exec(
                command, "migrate", store, cwd=folder, env={**os.environ, **env}
            )
            assert await mover.wait() == 0
        moved.set()

    async with AsyncExitStack() as stack:
        served = [stdio_client(STDIO, cwd=folder, environment=env) for _ in range(3)]
        clients = [await stack.enter_async_context(one) for one in served]
        once = {"tasks": [{"name": "once"}], "idempotency_key": "once"}
        first = await clients[0].value("create_tasks", **once)
        await asyncio.gather(move(), *(write(one, f"agent {n}") for n, one in enumerate(clients)))

        assert (await clients[0].value("project_info"))["store"] == "sqlite"
        assert await clients[0].value("create_tasks", **once) == first
    done = subprocess.run(
        [command, "export"], cwd=folder, env={**os.environ, **env}, capture_output=True, check=True
    )
    kept = {task["name"] for task in json.loads(done.stdout)["tasks"]}
    assert kept == {"once", *answered}
