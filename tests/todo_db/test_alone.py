"""`todo-db-mcp`, the server of its own, through a real stdio client: the scenarios of its spec."""

import asyncio
import json
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client
from mcp_host.testing import CallFailed, StdioClient, http_server, stdio_client
from mcp_host_todo_db.storage import create_tables, read_url

if TYPE_CHECKING:
    from conftest import Server

pytestmark = pytest.mark.anyio

COMMAND = str(Path(sys.executable).with_name("todo-db-mcp"))
NOT_FOUND = "Task not found or access denied"


@asynccontextmanager
async def alone(folder: Path, url: str | None, **options: Any) -> AsyncIterator[StdioClient]:
    async with stdio_client(
        [COMMAND], environment=environment(folder, url), cwd=folder, **options
    ) as client:
        yield client


def environment(folder: Path, url: str | None) -> Mapping[str, str]:
    """Variables of a fresh account; without a URL the variable is empty."""
    folders = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "DATA", "CACHE")}
    return {**folders, "DATABASE_URL": url or ""}


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
async def client(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[StdioClient]:
    """One server for the scenarios, each of which is about users of its own."""
    url = None
    if request.param == "postgres":
        server: Server = request.getfixturevalue("server")
        url = server.url(await server.schema())
        await create_tables(read_url(url))
    async with alone(tmp_path_factory.mktemp("alone"), url) as client:
        yield client


@pytest.fixture
def user() -> str:
    return f"user-{uuid.uuid4()}"


async def texts(client: StdioClient, tool: str, **arguments: Any) -> list[Any]:
    """The result's text contents, which are JSON each."""
    result = await client.call(tool, **arguments)
    assert not result["isError"], result
    return [json.loads(content["text"]) for content in result["content"]]


async def error(client: StdioClient, tool: str, **arguments: Any) -> dict[str, Any]:
    """The envelope of a call that must fail; it stands in the text and in `_meta` alike."""
    result = await client.call(tool, **arguments)
    assert result["isError"]
    assert "structuredContent" not in result
    envelope = json.loads(result["content"][0]["text"])
    assert result["_meta"]["mcp-host/error"] == envelope
    assert envelope["success"] is False
    return dict(envelope)


async def listed(client: StdioClient, user: str, **arguments: Any) -> list[dict[str, Any]]:
    (rows,) = await texts(client, "list_tasks", user_id=user, **arguments)
    return list(rows)


async def added(client: StdioClient, user: str, title: str) -> str:
    (answer,) = await texts(client, "add_task", user_id=user, title=title)
    return str(answer["task_id"])


async def test_there_are_exactly_five_tools_and_they_say_what_they_need(
    client: StdioClient,
) -> None:
    tools = {tool["name"]: tool for tool in await client.tools()}

    required = {name: set(tool["inputSchema"]["required"]) for name, tool in tools.items()}
    assert required == {
        "add_task": {"user_id", "title"},
        "list_tasks": {"user_id"},
        "complete_task": {"user_id", "task_id"},
        "update_task": {"user_id", "task_id"},
        "delete_task": {"user_id", "task_id"},
    }
    for tool in tools.values():
        assert tool["description"]
        properties = tool["inputSchema"]["properties"].values()
        assert all(about["type"] and about["description"] for about in properties)
    assert len(json.dumps(list(tools.values()))) / 4 < 2000
    assert "host" not in json.dumps([client.initialized, list(tools.values())])
    assert client.initialized["serverInfo"]["name"] == "todo-db"


async def test_a_task_is_added_with_and_without_a_description(
    client: StdioClient, user: str
) -> None:
    (answer,) = await texts(
        client, "add_task", user_id=user, title="Buy groceries", description="Milk, eggs, bread"
    )
    (quick,) = await texts(client, "add_task", user_id=user, title="Quick note")

    assert answer == {"task_id": answer["task_id"], "status": "created", "title": "Buy groceries"}
    assert str(uuid.UUID(answer["task_id"])) == answer["task_id"]
    assert quick["status"] == "created"
    rows = await listed(client, user)
    assert [(row["id"], row["description"]) for row in rows] == [
        (quick["task_id"], None),
        (answer["task_id"], "Milk, eggs, bread"),
    ]


@pytest.mark.parametrize("tool", ["add_task", "update_task"])
async def test_an_empty_title_is_answered_by_saying_that_it_is_required(
    client: StdioClient, user: str, tool: str
) -> None:
    more = {"task_id": await added(client, user, "t")} if tool == "update_task" else {}

    envelope = await error(client, tool, user_id=user, title="", **more)

    assert "title is required" in envelope["error"]
    assert envelope["code"] == "validation_error"
    assert envelope["details"] == {"reason": "invalid_value", "field": "title"}
    assert len(await listed(client, user)) == len(more)


async def test_tasks_are_listed_by_state(client: StdioClient, user: str) -> None:
    assert await listed(client, user) == []
    done = await added(client, user, "done")
    open_ones = [await added(client, user, title) for title in ("a", "b")]
    await texts(client, "complete_task", user_id=user, task_id=done)

    ids = {
        status: [row["id"] for row in await listed(client, user, status=status)]
        for status in ("all", "pending", "completed")
    }

    pending = open_ones[::-1]
    assert ids == {"all": [*pending, done], "pending": pending, "completed": [done]}
    assert await listed(client, user) == await listed(client, user, status="all")
    (row,) = await listed(client, user, status="completed")
    assert row.keys() == {"id", "title", "description", "is_completed", "created_at"}
    assert row["is_completed"] is True


async def test_an_unknown_state_is_answered_with_the_known_ones(
    client: StdioClient, user: str
) -> None:
    envelope = await error(client, "list_tasks", user_id=user, status="archived")

    assert envelope["code"] == "validation_error"
    assert all(status in envelope["error"] for status in ("all", "pending", "completed"))


async def test_a_long_list_is_cut_and_says_where_the_rest_is(
    client: StdioClient, user: str
) -> None:
    ids = [await added(client, user, str(n)) for n in range(5)]

    rows, rest = await texts(client, "list_tasks", user_id=user, limit=2)
    whole = await client.call("list_tasks", user_id=user, limit=3, cursor=rest["next_cursor"])

    assert [row["id"] for row in rows] == ids[:2:-1]
    assert rest == {"total": 5, "truncated": True, "next_cursor": rest["next_cursor"]}
    assert len(whole["content"]) == 1
    structured = whole["structuredContent"]
    assert list(structured) == ["total", "truncated", "next_cursor", "result"]
    assert (structured["total"], structured["truncated"]) == (5, False)
    assert [row["id"] for row in structured["result"]] == ids[2::-1]


async def test_completing_a_task_flips_it_and_a_given_state_is_set(
    client: StdioClient, user: str
) -> None:
    task = await added(client, user, "Buy groceries")

    async def complete(**state: bool) -> str:
        (answer,) = await texts(client, "complete_task", user_id=user, task_id=task, **state)
        assert answer == {"task_id": task, "status": answer["status"], "title": "Buy groceries"}
        return str(answer["status"])

    assert [await complete() for _ in range(2)] == ["completed", "pending"]
    assert [await complete(completed=True) for _ in range(2)] == ["completed", "completed"]
    assert await complete(completed=False) == "pending"


async def test_calls_at_once_flip_a_task_as_often_as_they_are(
    client: StdioClient, user: str
) -> None:
    task = await added(client, user, "t")

    answers = await asyncio.gather(
        *(client.value("complete_task", user_id=user, task_id=task) for _ in range(21))
    )

    statuses = [answer["status"] for answer in answers]
    assert sorted(statuses) == ["completed"] * 11 + ["pending"] * 10
    assert (await listed(client, user))[0]["is_completed"] is True


async def test_an_update_changes_only_what_is_given(client: StdioClient, user: str) -> None:
    task = await added(client, user, "Buy groceries")
    update: dict[str, Any] = {"user_id": user, "task_id": task}

    (titled,) = await texts(client, "update_task", **update, title="Buy groceries and fruits")
    (described,) = await texts(client, "update_task", **update, description="Get organic produce")

    new = {"task_id": task, "status": "updated", "title": "Buy groceries and fruits"}
    assert titled == described == new
    (row,) = await listed(client, user)
    assert (row["title"], row["description"]) == (new["title"], "Get organic produce")
    (nothing,) = await texts(client, "update_task", **update)
    (nulls,) = await texts(client, "update_task", **update, title=None, description=None)
    assert nothing == nulls == {**new, "changed": []}
    assert await listed(client, user) == [row]
    await texts(client, "update_task", **update, description="")
    assert (await listed(client, user))[0]["description"] is None


async def test_a_deleted_task_is_gone(client: StdioClient, user: str) -> None:
    task = await added(client, user, "Buy groceries")

    (answer,) = await texts(client, "delete_task", user_id=user, task_id=task)

    assert answer == {"task_id": task, "status": "deleted", "title": "Buy groceries"}
    assert await listed(client, user) == []
    envelope = await error(client, "delete_task", user_id=user, task_id=task)
    assert (envelope["error"], envelope["code"]) == (NOT_FOUND, "not_found")


@pytest.mark.parametrize("tool", ["complete_task", "update_task", "delete_task"])
async def test_tasks_of_others_and_unknown_ones_are_not_told_apart(
    client: StdioClient, user: str, tool: str
) -> None:
    theirs = await added(client, "xyz-456", "theirs")
    before = await listed(client, "xyz-456")

    for task_id in (theirs, str(uuid.uuid4()), "no-uuid", ""):
        envelope = await error(client, tool, user_id=user, task_id=task_id)
        assert (envelope["error"], envelope["code"]) == (NOT_FOUND, "not_found")
        assert envelope["details"] == {"reason": "task_not_found"}

    assert await listed(client, "xyz-456") == before
    assert await listed(client, user) == []


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("complete_task", {"user_id": "u", "task_id": 7}, "task_id"),
        ("complete_task", {"user_id": "u"}, "task_id"),
        ("add_task", {"title": "t"}, "user_id"),
        ("add_task", {"user_id": ["u"], "title": "t"}, "user_id"),
        ("add_task", {"user_id": "u", "title": "t", "descripton": "d"}, "description"),
        ("add_task", {"user_id": "", "title": "t"}, "user_id is required"),
        ("add_task", {"user_id": "u", "title": "t" * 256}, "at most 255"),
        ("add_task", {"user_id": "u", "title": "t", "description": "d" * 10001}, "at most 10000"),
        ("add_task", {"user_id": "u", "title": "a\0b"}, "NUL"),
        ("list_tasks", {"user_id": "u", "limit": 501}, "limit"),
        ("list_tasks", {"user_id": "u", "limit": 10**400}, "limit"),
        ("list_tasks", {"user_id": "u", "cursor": "made up"}, "cursor"),
    ],
)
async def test_arguments_that_do_not_fit_are_named(
    client: StdioClient, tool: str, arguments: dict[str, Any], said: str
) -> None:
    envelope = await error(client, tool, **arguments)

    assert envelope["code"] == "validation_error"
    assert said in envelope["error"] + " ".join(envelope.get("suggestions", []))


async def test_a_lone_surrogate_is_refused_and_the_server_lives_on(
    client: StdioClient, user: str
) -> None:
    with pytest.raises(CallFailed):
        await client.value("add_task", user_id=user, title="a\ud800b")

    assert await listed(client, user) == []


async def test_the_stateless_era_is_served_as_well(tmp_path: Path) -> None:
    async with alone(tmp_path, None, protocol="2026-07-28") as client:
        await client.value("add_task", user_id="ann", title="t")

        page = await client.value("list_tasks", user_id="ann")

        assert page["total"] == 1
        with pytest.raises(CallFailed, match=NOT_FOUND):
            await client.value("delete_task", user_id="bob", task_id=page["result"][0]["id"])


async def test_over_http_the_same_five_are_served(tmp_path: Path) -> None:
    argv = [COMMAND, "--transport", "http", "--port", "0"]
    async with (
        http_server(argv, environment=environment(tmp_path, None), cwd=tmp_path) as server,
        Client(server.url) as client,
    ):
        assert len((await client.list_tools()).tools) == 5
        added = await client.call_tool("add_task", {"user_id": "ann", "title": "t"})

        wrong = await client.call_tool("add_task", {"user_id": "ann", "title": ""})

        assert added.structured_content["status"] == "created"
        assert wrong.is_error
        assert "title is required" in wrong.content[0].text


async def test_without_a_url_tasks_are_kept_in_the_packs_folder(tmp_path: Path) -> None:
    async with alone(tmp_path, None) as client:
        await client.value("add_task", user_id="ann", title="t")
        assert await client.end_input() == 0

    async with alone(tmp_path, None) as client:
        assert (await client.value("list_tasks", user_id="ann"))["total"] == 1
    assert list((tmp_path / "DATA").rglob("todo.db"))


async def test_a_database_out_of_reach_ends_the_start_with_its_name_and_no_password(
    tmp_path: Path,
) -> None:
    url = "postgresql://ann:s3cret@127.0.0.1:1/x?sslmode=disable"

    async with alone(tmp_path, url, handshake=False) as client:
        assert await client.exited() == 3

    assert "The database at 127.0.0.1:1 cannot be reached: nothing listens there" in client.stderr
    assert "s3cret" not in client.stderr


async def test_a_database_without_the_table_is_made_ready_by_init_db(
    server: "Server", schema: str, tmp_path: Path
) -> None:
    url = server.url(schema)
    async with alone(tmp_path, url, handshake=False) as client:
        assert await client.exited() == 3
    assert "todo-db-mcp init-db" in client.stderr

    first = await init_db(tmp_path, url)
    second = await init_db(tmp_path, url)

    place = f"127.0.0.1:{server.port}"
    assert first == (0, f"{place}: made the table tasks\n", "")
    assert second == (0, f"{place}: the table tasks is there already\n", "")
    async with alone(tmp_path, url) as client:
        assert (await client.value("list_tasks", user_id="ann"))["total"] == 0


async def test_init_db_takes_a_settings_file_and_says_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(f'[packs.todo_db.settings]\nurl = "sqlite:///{tmp_path / "own.db"}"\n')

    assert (await init_db(tmp_path, None, "--config", str(file)))[0] == 0
    assert (tmp_path / "own.db").exists()
    code, _, said = await init_db(tmp_path, None)
    assert (code, said) == (
        1,
        "error: which database? Set DATABASE_URL, or name a file with --config\n",
    )
    code, _, said = await init_db(tmp_path, "postgres://ann:s3cret@127.0.0.1:1/x")
    assert (code, said) == (
        1,
        "error: The database at 127.0.0.1:1 cannot be reached: nothing listens there\n",
    )
    file.write_text("[packs.todo_db.settings]\nurll = 1\n")
    code, _, said = await init_db(tmp_path, None, "--config", str(file))
    assert code == 1
    assert said.startswith("error: ")
    assert "url" in said


async def init_db(folder: Path, url: str | None, *options: str) -> tuple[int, str, str]:
    """The command's exit code, output and error output."""
    done = await asyncio.to_thread(
        subprocess.run,
        [COMMAND, "init-db", *options],
        env={**os.environ, **environment(folder, url)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr
