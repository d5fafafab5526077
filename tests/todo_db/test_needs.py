"""Todo DB reads no variable of the environment but those of its driver."""

from pathlib import Path

import pytest
from mcp_host.testing import environment_reads, hosted

pytestmark = pytest.mark.anyio
PLUGIN = "mcp_host_todo_db.plugin"


async def test_no_variable_is_read_that_is_not_declared(tmp_path: Path) -> None:
    tables = {"packs": {"todo_db": {"settings": {"url": f"sqlite:///{tmp_path / 'todo.db'}"}}}}
    with environment_reads(PLUGIN) as reads:
        async with hosted({"todo_db": PLUGIN}, tables) as host:
            await host.value("todo_db_add_task", user_id="ann", title="Bread")
            await host.value("todo_db_list_tasks", user_id="ann")

    assert reads.undeclared == ()
