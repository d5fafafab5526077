"""The pack in the host: prefixed, with settings, known callers, and a database that goes."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_host.testing import Hosted, hosted, http_server, stdio_client
from mcp_host_todo_db.storage import create_tables, read_url

if TYPE_CHECKING:
    from conftest import Server

pytestmark = pytest.mark.anyio

PACK = {"todo_db": "mcp_host_todo_db.plugin"}
FIVE = ["add_task", "list_tasks", "complete_task", "update_task", "delete_task"]
BIN = Path(sys.executable).parent
ENGINE = (
    "aiosqlite",
    "asyncio",
    "asyncpg",
    "logging",
    "mcp",
    "sqlalchemy",
    "sqlite3",
    "mcp_host_todo_db.opening",
    "mcp_host_todo_db.service",
    "mcp_host_todo_db.storage",
)


def settings(url: str, **more: Any) -> dict[str, Any]:
    return {"packs": {"todo_db": {"settings": {"url": url, **more}}}}


def loaded_by(program: str, *names: str) -> list[str]:
    """Those of the modules that a fresh interpreter has after a program."""
    told = f"{program}\nimport sys; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", told], text=True).split()
    return sorted(set(names).intersection(loaded))


async def test_the_tools_carry_the_packs_prefix_and_name_each_other_by_it(tmp_path: Path) -> None:
    async with hosted(PACK, settings(f"sqlite:///{tmp_path / 'todo.db'}")) as host:
        assert host.names() == [f"todo_db_{name}" for name in FIVE]
        task_id = host.listed("todo_db_delete_task")["inputSchema"]["properties"]["task_id"]
        assert "todo_db_list_tasks" in task_id["description"]

        made = await host.value("todo_db_add_task", user_id="ann", title="t")

        page = await host.value("todo_db_list_tasks", user_id="ann")
        assert [task["id"] for task in page["result"]] == [made["task_id"]]


def test_a_pack_that_is_only_listed_imports_neither_its_engine_nor_an_event_loop() -> None:
    program = (
        "import sys, mcp_host_todo_db.plugin as p;"
        "s = p.mcp_host_settings()(); p.mcp_host_instructions(s), p.mcp_host_errors();"
        "[tool.listed(tool.name, str) for tool in p.mcp_host_tools(s)];"
    )

    assert loaded_by(program, "mcp_host_todo_db.tools", *ENGINE) == ["mcp_host_todo_db.tools"]


def test_a_server_alone_imports_nothing_of_the_pack_before_the_saved_catalogue_is_read() -> None:
    parts = (
        "mcp_host_todo_db.errors",
        "mcp_host_todo_db.model",
        "mcp_host_todo_db.settings",
        "mcp_host_todo_db.plugin",
    )
    program = "import mcp_host_todo_db.server as s; s.SERVER"

    assert loaded_by(program, "importlib.metadata", "pydantic", *parts, *ENGINE) == []


async def test_a_user_fixed_in_the_settings_is_the_only_one(tmp_path: Path) -> None:
    tables = settings(f"sqlite:///{tmp_path / 'todo.db'}", user_id="ann")
    async with hosted(PACK, tables) as host:
        await host.value("todo_db_add_task", user_id="ann", title="mine")

        for tool, more in (("add_task", {"title": "t"}), ("list_tasks", {})):
            envelope = await host.error(f"todo_db_{tool}", user_id="bob", **more)
            assert envelope["code"] == "permission_denied"
            assert envelope["details"] == {"reason": "not_your_tasks"}


@pytest.mark.parametrize("name", ["statement_timeout", "history_days", "undo_days"])
@pytest.mark.parametrize("value", [float("inf"), 1e9])
async def test_a_time_that_no_database_can_count_is_refused_by_its_name(
    tmp_path: Path, name: str, value: float
) -> None:
    async with hosted(PACK, settings(f"sqlite:///{tmp_path}/todo.db", **{name: value})) as host:
        error = await host.error("todo_db_list_tasks", user_id="ann")

    assert error["code"] == "unavailable"
    assert f"packs.todo_db.settings.{name}: Input should be less than or equal to" in error["error"]


async def test_a_call_that_names_nobody_means_the_user_of_the_settings(tmp_path: Path) -> None:
    tables = settings(f"sqlite:///{tmp_path / 'todo.db'}", user_id="ann")
    async with hosted(PACK, tables) as host:
        made = await host.value("todo_db_add_task", title="mine")
        task = {"task_id": made["task_id"]}
        assert (await host.value("todo_db_complete_task", **task))["status"] == "completed"
        assert (await host.value("todo_db_update_task", **task, title="ours"))["title"] == "ours"

        named = await host.value("todo_db_list_tasks", user_id="ann")

        assert await host.value("todo_db_list_tasks") == named
        assert [row["title"] for row in named["result"]] == ["ours"]
        assert (await host.value("todo_db_delete_task", **task))["status"] == "deleted"


async def test_where_nobody_is_known_to_call_a_call_must_name_its_user(tmp_path: Path) -> None:
    async with hosted(PACK, settings(f"sqlite:///{tmp_path / 'todo.db'}")) as host:
        for tool, more in (
            ("add_task", {"title": "t"}),
            ("list_tasks", {}),
            ("complete_task", {"task_id": "x"}),
            ("update_task", {"task_id": "x"}),
            ("delete_task", {"task_id": "x"}),
        ):
            schema = host.listed(f"todo_db_{tool}")["inputSchema"]
            assert "user_id" not in schema.get("required", [])
            envelope = await host.error(f"todo_db_{tool}", **more)

            assert envelope["code"] == "validation_error"
            assert envelope["error"] == "user_id is required: nobody is known to call"


async def test_over_http_a_token_says_whose_tasks_may_be_used(tmp_path: Path) -> None:
    tokens = "".join(
        f'[[http.tokens]]\ntoken = {{ env = "TOKEN_OF_{subject}" }}\n'
        f'subject = "{subject}"\nscopes = ["todo_db:write"]\n'
        for subject in ("ann", "bob")
    )
    config = tmp_path / "mcp-host.toml"
    config.write_text(
        f"{tokens}[packs.todo_db]\nenabled = true\n"
        f'[packs.todo_db.settings]\nurl = "sqlite:///{tmp_path / "todo.db"}"\n'
    )
    argv = [BIN / "mcp-host", "serve", "--config", config, "--transport", "http", "--port", "0"]
    variables = {f"TOKEN_OF_{subject}": token(subject) for subject in ("ann", "bob")}
    async with http_server(argv, environment=variables) as server:
        made = await over_http(server.url, "ann", "add_task", user_id="ann", title="t")

        stolen = {"user_id": "ann", "task_id": made["task_id"]}
        assert await over_http(server.url, "bob", "delete_task", **stolen) == "not_found"
        assert await over_http(server.url, "bob", "list_tasks", user_id="ann") == (
            "permission_denied"
        )
        assert (
            await over_http(server.url, "bob", "add_task", user_id="ann", title="planted")
            == "permission_denied"
        )
        page = await over_http(server.url, "ann", "list_tasks", user_id="ann")
        assert [task["title"] for task in page["result"]] == ["t"]
        assert await over_http(server.url, "ann", "list_tasks") == page
        await over_http(server.url, "bob", "add_task", title="bob's")
        page = await over_http(server.url, "bob", "list_tasks", user_id="bob")
        assert [task["title"] for task in page["result"]] == ["bob's"]


def token(subject: str) -> str:
    return f"{subject}-{'secret' * 6}"


async def over_http(url: str, subject: str, tool: str, **arguments: Any) -> Any:
    """A tool's structured result, or the code of its error, for the holder of a token."""
    headers = {"Authorization": f"Bearer {token(subject)}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        result = await client.call_tool(f"todo_db_{tool}", arguments)
        if result.is_error:
            return json.loads(result.content[0].text)["code"]
        return result.structured_content


async def test_a_database_that_goes_makes_the_pack_degraded_until_it_is_back(
    server: "Server", schema: str
) -> None:
    url = server.url(schema)
    await create_tables(read_url(url))
    async with hosted(PACK, settings(url)) as host:
        await host.value("todo_db_add_task", user_id="ann", title="t")
        await asyncio.to_thread(server.stop)
        try:
            envelope = await host.error("todo_db_list_tasks", user_id="ann")
            lost = await state(host)
        finally:
            await asyncio.to_thread(server.start)
        page = await host.value("todo_db_list_tasks", user_id="ann")

        place = f"127.0.0.1:{server.port}"
        assert envelope["code"] == "unavailable"
        assert envelope["retryable"] is True
        assert envelope["details"] == {"reason": "database_unreachable", "database": place}
        assert lost == "degraded"
        assert page["total"] == 1
        assert await state(host) == "ready"


async def test_a_database_that_was_not_there_fails_the_pack_which_says_why(
    server: "Server", schema: str
) -> None:
    async with hosted(PACK, settings(server.url(schema))) as host:
        envelope = await host.error("todo_db_list_tasks", user_id="ann")

        assert await state(host) == "failed"
        assert envelope["code"] == "unavailable"
        assert "has no table tasks" in envelope["error"]
        assert "todo-db-mcp init-db" in envelope["error"]


async def state(host: Hosted) -> str:
    (pack,) = json.loads(await host.text("host://packs"))
    return str(pack["state"])


@pytest.mark.acceptance
async def test_openais_agents_sdk_can_use_the_server(tmp_path: Path) -> None:
    from agents.mcp import MCPServerStdio  # which takes two seconds to import

    environment = {"DATABASE_URL": f"sqlite:///{tmp_path / 'todo.db'}"}
    parameters: Any = {"command": str(BIN / "todo-db-mcp"), "env": environment}
    async with MCPServerStdio(params=parameters, client_session_timeout_seconds=60) as server:
        assert [tool.name for tool in await server.list_tools()] == FIVE

        added = await server.call_tool("add_task", {"user_id": "ann", "title": "t"})
        wrong = await server.call_tool("add_task", {"user_id": "ann", "title": ""})

        assert json.loads(added.content[0].text)["status"] == "created"
        assert "title is required" in json.loads(wrong.content[0].text)["error"]


async def test_a_client_that_leaves_in_the_middle_loses_no_accepted_call(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'todo.db'}"
    async with stdio_client([BIN / "todo-db-mcp"], environment={"DATABASE_URL": url}) as client:
        for n in range(30):
            arguments = {"user_id": "ann", "title": str(n)}
            params = {"name": "add_task", "arguments": arguments}
            await client.send(client.frame(f"c{n}", "tools/call", params))
        assert await client.end_input() == 0

        answered = {frame["id"] for frame in client.other_frames}
    assert answered == {f"c{n}" for n in range(30)}
    async with hosted(PACK, settings(url)) as host:
        assert (await host.value("todo_db_list_tasks", user_id="ann"))["total"] == 30
