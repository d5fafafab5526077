"""What this pack answers to the host's questions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING

from mcp_host import Finding, Needs, Resource, Tool, hookimpl

from . import checks, errors, resources, tools
from .settings import TodoDbSettings

if TYPE_CHECKING:
    from mcp_host import Bus, PackHandle

    from .service import TaskService


@hookimpl
def mcp_host_settings() -> type[TodoDbSettings]:
    return TodoDbSettings


@hookimpl
def mcp_host_open(
    settings: TodoDbSettings, pack: PackHandle
) -> AbstractAsyncContextManager[TaskService]:
    # Clients wait for plugin.py and what it imports; the database's library comes with this.
    from .opening import open_service

    return open_service(settings, pack)


@hookimpl
def mcp_host_bus(
    settings: TodoDbSettings,
) -> Callable[[], AbstractAsyncContextManager[Bus]] | None:
    if settings.bus_url is None:
        return None
    url = settings.bus_url.get_secret_value()

    def opens() -> AbstractAsyncContextManager[Bus]:
        from .opening import open_notices  # as above

        return open_notices(url)

    return opens


@hookimpl
def mcp_host_tools(settings: TodoDbSettings) -> Sequence[Tool]:
    five = [
        tools.add_task,
        tools.list_tasks,
        tools.complete_task,
        tools.update_task,
        tools.delete_task,
    ]
    return five if settings.user_id_required else [tools.users_left_out(one) for one in five]


@hookimpl
def mcp_host_resources() -> Sequence[Resource]:
    return [resources.tasks, resources.history]


@hookimpl
def mcp_host_instructions(settings: TodoDbSettings) -> str:
    whose = "" if settings.user_id_required else " (left out, the known caller)"
    return (
        "A to-do list for many users, kept in a database. Every call names its user by user_id"
        f"{whose} and sees that user's tasks alone. Find a task's id with {{tool:list_tasks}}"
        " before changing it."
    )


@hookimpl
def mcp_host_needs() -> Needs:
    # The driver fills in from them what a PostgreSQL URL leaves out.
    return Needs(reads_environment=("PG*",))


@hookimpl
def mcp_host_errors() -> Mapping[type[Exception], str]:
    return {
        errors.InvalidTaskError: "validation_error",
        errors.BadCursorError: "validation_error",
        errors.TaskNotFoundError: "not_found",
        errors.UnknownUserError: "not_found",
        errors.NotYourTasksError: "permission_denied",
        errors.BadUrlError: "unavailable",
        errors.DatabaseUnavailableError: "unavailable",
        errors.RequestKeyReusedError: "conflict",
        errors.NotKeptError: "unsupported",
        errors.DatabaseBusyError: "busy",
    }


@hookimpl
def mcp_host_checks(
    settings: TodoDbSettings,
) -> Sequence[Callable[[], Awaitable[Finding | None]]]:
    return [partial(checks.migration_is_done, settings)]
