"""`todo-db-mcp undo USER TASK`: bring a deleted task back."""

import asyncio
from collections.abc import Sequence

from mcp_host import Standalone

from ..service import TaskService
from ..settings import TodoDbSettings
from ..storage import Address, open_store
from .common import parser, told


def main(server: Standalone, arguments: Sequence[str]) -> int:
    """Restore the task, say so, and return the exit code."""
    options = parser("undo", "Bring back a task that was deleted within undo_days.")
    options.add_argument("user", metavar="USER", help="whose task it was")
    options.add_argument("task", metavar="TASK", help="its id, as delete_task answered with")
    given = options.parse_args(arguments)

    async def restore(address: Address, settings: TodoDbSettings) -> str:
        async with open_store(
            address,
            connect_timeout=settings.connect_timeout,
            history_days=settings.history_days,
            undo_days=settings.undo_days,
            row_security=settings.row_security,
        ) as store:
            title = await TaskService(store).restore(given.user, given.task)
        return f"restored {title!r} of {given.user}"

    return asyncio.run(told(server, given.config, restore))
