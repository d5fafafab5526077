"""What this pack answers to the host's questions."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from mcp_host import Tool, hookimpl

from . import errors, tools
from .settings import TodoDbSettings

if TYPE_CHECKING:
    from mcp_host import PackHandle

    from .service import TaskService


@hookimpl
def mcp_host_settings() -> type[TodoDbSettings]:
    return TodoDbSettings


@hookimpl
@asynccontextmanager
async def mcp_host_open(
    settings: TodoDbSettings, pack: "PackHandle"
) -> AsyncIterator["TaskService"]:
    # SQLAlchemy comes with these: a pack that is only listed does not wait for it.
    from .service import TaskService
    from .storage import Health, SqliteFile, open_store, read_url

    url = settings.url and read_url(settings.url.get_secret_value())
    address = url or SqliteFile(pack.data_dir / "todo.db")
    async with open_store(
        address,
        connect_timeout=settings.connect_timeout,
        pool_size=settings.pool_size,
        health=Health(
            degraded=partial(
                pack.degraded,
                code="database_unavailable",
                remedy="Check that the database runs; the pack goes on as soon as it answers",
            ),
            recovered=pack.recovered,
        ),
    ) as store:
        yield TaskService(store, only_user=settings.user_id)


@hookimpl
def mcp_host_tools() -> Sequence[Tool]:
    return [
        tools.add_task,
        tools.list_tasks,
        tools.complete_task,
        tools.update_task,
        tools.delete_task,
    ]


@hookimpl
def mcp_host_instructions() -> str:
    return (
        "A to-do list for many users, kept in a database. Every call names its user by user_id and"
        " sees that user's tasks alone. Find a task's id with {tool:list_tasks} before changing it."
    )


@hookimpl
def mcp_host_errors() -> Mapping[type[Exception], str]:
    return {
        errors.InvalidTask: "validation_error",
        errors.BadCursor: "validation_error",
        errors.TaskNotFound: "not_found",
        errors.UnknownUser: "not_found",
        errors.NotYourTasks: "permission_denied",
        errors.BadUrl: "unavailable",
        errors.DatabaseUnavailable: "unavailable",
        errors.Busy: "busy",
    }
