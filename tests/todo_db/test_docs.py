"""The settings and entries that the documentation shows are ones that work."""

import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg
import pytest
from mcp_host_todo_db.settings import TodoDbSettings
from mcp_host_todo_db.storage import PostgresServer, create_tables, read_url

if TYPE_CHECKING:
    from conftest import Server

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "todo-db.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_the_settings_shown_are_all_there_are_with_their_defaults() -> None:
    (shown,) = (tomllib.loads(block)["packs"]["todo_db"]["settings"] for block in blocks("toml"))

    del shown["url"], shown["bus_url"], shown["user_id"]
    defaults = TodoDbSettings().model_dump()
    del defaults["url"], defaults["bus_url"], defaults["user_id"]
    assert shown == defaults


def test_the_entry_shown_names_a_database_that_can_be_read() -> None:
    (entry,) = (json.loads(block)["mcpServers"]["todo-db"] for block in blocks("json"))

    address = read_url(entry["env"]["DATABASE_URL"])

    assert isinstance(address, PostgresServer)
    assert address.place == "db.example.com"


@pytest.mark.parametrize("index", ["tasks_of_user", "tasks_of_user_by_state"])
async def test_the_indexes_shown_are_those_that_init_db_makes(
    server: "Server", schema: str, index: str
) -> None:
    await create_tables(read_url(server.url(schema)))
    connection = await asyncpg.connect(server.admin_url)
    (made,) = await connection.fetchrow(
        "SELECT indexdef FROM pg_indexes WHERE schemaname = $1 AND indexname = $2", schema, index
    )
    await connection.close()

    (shown,) = re.findall(rf"CREATE INDEX {index} ON .*;", blocks("sql")[0])
    assert made.replace(f"{schema}.", "").replace(" USING btree", "") == shown.removesuffix(";")
