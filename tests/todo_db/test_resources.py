"""What clients read and watch of the to-do list."""

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp_host import Caller
from mcp_host.testing import CallFailed, hosted
from mcp_host_todo_db.storage import create_tables, read_url

if TYPE_CHECKING:
    from conftest import Server

pytestmark = pytest.mark.anyio

PACK = {"todo_db": "mcp_host_todo_db.plugin"}


def settings(url: str) -> dict[str, Any]:
    return {"packs": {"todo_db": {"settings": {"url": url}}}}


def of(subject: str) -> Caller:
    return Caller(subject=subject, scopes=frozenset({"todo_db:write"}))


@pytest.fixture
def tables(tmp_path: Path) -> Mapping[str, Any]:
    return settings(f"sqlite:///{tmp_path / 'todo.db'}")


async def test_a_users_tasks_are_read_as_list_tasks_shows_them(tables: Mapping[str, Any]) -> None:
    user = "ann/of the hill@example.com"
    async with hosted(PACK, tables) as host:
        assert host.names("resourceTemplates") == ["todo://{user}/tasks", "todo://{user}/history"]
        await host.value("todo_db_add_task", user_id=user, title="Buy groceries")
        await host.value("todo_db_add_task", user_id="bob", title="bob's")

        read = json.loads(await host.text("todo://ann%2Fof%20the%20hill%40example.com/tasks"))

        listed = await host.value("todo_db_list_tasks", user_id=user)
        assert read == listed["result"]
        assert [task["title"] for task in read] == ["Buy groceries"]
        assert json.loads(await host.text("todo://nobody/tasks")) == []


async def test_the_history_tells_each_change_newest_first(tables: Mapping[str, Any]) -> None:
    async with hosted(PACK, tables) as host:
        made = await host.value("todo_db_add_task", user_id="ann", title="t")
        await host.value("todo_db_complete_task", user_id="ann", task_id=made["task_id"])

        history = json.loads(await host.text("todo://ann/history"))

        assert [(one["action"], one["task_id"]) for one in history] == [
            ("completed", made["task_id"]),
            ("added", made["task_id"]),
        ]


async def test_a_known_caller_reads_their_own_alone(tables: Mapping[str, Any]) -> None:
    async with hosted(PACK, tables) as host:
        ann, bob = host.seen_by(of("ann")), host.seen_by(of("bob"))
        await ann.value("todo_db_add_task", title="ann's")

        for what in ("tasks", "history"):
            assert len(json.loads(await ann.text(f"todo://ann/{what}"))) == 1
            with pytest.raises(CallFailed) as caught:
                await bob.text(f"todo://ann/{what}")
            assert caught.value.code == "permission_denied"
            assert "ann's" not in str(caught.value)


async def test_whoever_watches_hears_of_every_change_also_of_a_known_callers(
    tables: Mapping[str, Any],
) -> None:
    async with hosted(PACK, tables) as host:
        made = await host.value("todo_db_add_task", user_id="ann", title="t")
        task = {"user_id": "ann", "task_id": made["task_id"]}
        await host.next_change("todo://ann/tasks")
        for tool, more in (
            ("complete_task", {}),
            ("update_task", {"title": "u"}),
            ("delete_task", {}),
        ):
            await host.value(f"todo_db_{tool}", **task, **more)
            await host.next_change("todo://ann/tasks")
            await host.next_change("todo://ann/history")

        await host.seen_by(of("bob")).value("todo_db_add_task", title="bob's")
        await host.next_change("todo://bob/tasks")


async def test_a_history_that_is_not_kept_names_the_command_that_makes_it(
    server: "Server", schema: str
) -> None:
    await create_tables(read_url(server.url(schema)))
    async with hosted(PACK, settings(server.url(schema))) as host:
        assert json.loads(await host.text("todo://ann/tasks")) == []
        with pytest.raises(CallFailed) as caught:
            await host.text("todo://ann/history")

    assert caught.value.code == "unsupported"
    assert "todo-db-mcp migrate" in str(caught.value)


async def test_a_change_is_told_to_those_who_watch_through_another_process(
    server: "Server", schema: str
) -> None:
    url = server.url(schema)
    await create_tables(read_url(url))
    table = {"packs": {"todo_db": {"settings": {"url": url, "bus_url": url}}}}
    listening = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'todo_db notices'"
    async with hosted(PACK, table) as one, hosted(PACK, table) as other:
        async with asyncio.timeout(60):
            for count in iter(partial(server.value, f"{listening} AND query LIKE 'LISTEN%'"), None):
                if await count == 2:
                    break
        for title in ("once", "twice"):
            await one.seen_by(of("ann/o:n")).value("todo_db_add_task", title=title)
        await one.next_change("todo://ann%2Fo%3An/tasks")

        await other.next_change("todo://ann%2Fo%3An/tasks")
        await other.next_change("todo://ann%2Fo%3An/history")

        assert other.changes.empty()  # two changes of a moment are told as one


@pytest.mark.parametrize("bus_url", ["sqlite:////x.db", "postgres://a@b.example/c?pgbouncer=true"])
async def test_a_bus_that_reaches_nobody_is_refused(
    tables: Mapping[str, Any], bus_url: str
) -> None:
    tables["packs"]["todo_db"]["settings"]["bus_url"] = bus_url
    async with hosted(PACK, tables) as host:
        envelope = await host.error("todo_db_list_tasks", user_id="ann")

    assert "bus_url must be of PostgreSQL itself" in envelope["error"]
