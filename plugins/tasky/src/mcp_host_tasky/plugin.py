"""What this pack answers to the host's questions.

Clients wait for this module and what it imports before they see a list: nothing in it knows how a
plan is kept or worked on. That comes with `opening`, when the host opens the pack.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mcp_host import Prompt, Resource, Tool, hookimpl

from . import errors, prompts, resources, tools
from .settings import TaskySettings

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from mcp_host import PackHandle

    from .opened import Opened


@hookimpl
def mcp_host_settings() -> type[TaskySettings]:
    return TaskySettings


@hookimpl
def mcp_host_open(
    settings: TaskySettings, pack: "PackHandle"
) -> "AbstractAsyncContextManager[Opened]":
    from .opening import open_plan

    return open_plan(settings, pack)


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
        "{tool:search_tasks} (ready), claim it with {tool:edit_tasks} before you begin, complete "
        "it when it is done. Ids may be shortened to a unique beginning."
    )


@hookimpl
def mcp_host_errors() -> Mapping[type[Exception], str]:
    kinds = (
        errors.Invalid,
        errors.NotFound,
        errors.Conflict,
        errors.Denied,
        errors.Busy,
        errors.Unavailable,
        errors.Stopped,
    )
    return {kind: kind.code for kind in kinds}
