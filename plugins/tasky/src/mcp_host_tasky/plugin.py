"""What this pack answers to the host's questions.

Clients wait for this module and what it imports before they see a list: nothing in it knows how a
plan is kept or worked on. That comes with `opening`, when the host opens the pack.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mcp_host import Needs, Prompt, Resource, Tool, hookimpl

from . import errors, prompts, resources, tools
from .settings import TaskySettings

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from mcp_host import PackHandle

    from .service import Service


@hookimpl
def mcp_host_settings() -> type[TaskySettings]:
    return TaskySettings


@hookimpl
def mcp_host_open(
    settings: TaskySettings, pack: "PackHandle"
) -> "AbstractAsyncContextManager[Service]":
    from .opening import open_service

    return open_service(settings, pack)


@hookimpl
def mcp_host_tools() -> Sequence[Tool]:
    return [
        tools.project_info,
        tools.create_tasks,
        tools.edit_tasks,
        tools.search_tasks,
        tools.get_tasks,
    ]


@hookimpl
def mcp_host_resources() -> Sequence[Resource]:
    return [resources.project, resources.task]


@hookimpl
def mcp_host_prompts() -> Sequence[Prompt]:
    return [prompts.plan, prompts.next_task]


@hookimpl
def mcp_host_instructions() -> str:
    return (
        "A project's plan that agents share. Call {tool:project_info} first, find work with "
        "{tool:search_tasks} (ready), or take some by {tool:edit_tasks} with action next. Claim a "
        "task before you begin and complete it when it is done. Where several agents share a "
        "connection, each says its name as agent. Ids may be shortened to a unique beginning."
    )


@hookimpl
def mcp_host_needs() -> Needs:
    return Needs(reads_environment=("TASKY_*",))


@hookimpl
def mcp_host_errors() -> Mapping[type[Exception], str]:
    kinds = (
        errors.InvalidError,
        errors.NotFoundError,
        errors.ConflictError,
        errors.PermissionDeniedError,
        errors.BusyError,
        errors.UnavailableError,
        errors.StoppedError,
    )
    return {kind: kind.code for kind in kinds}
