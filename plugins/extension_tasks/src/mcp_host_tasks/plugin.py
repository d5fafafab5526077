"""What this pack answers to the host's questions."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial

from mcp_host import Extension, LongCalls, Needs, PackHandle, Subscriptions, Tool, hookimpl

from . import errors, methods, tools
from .engine.installed import installed_engine
from .service import Tasks
from .settings import TasksSettings

KEY = "taskIds"
"""What clients name the tasks under that they follow."""


@hookimpl
def mcp_host_settings() -> type[TasksSettings]:
    return TasksSettings


@hookimpl
@asynccontextmanager
async def mcp_host_open(settings: TasksSettings, pack: PackHandle) -> AsyncIterator[Tasks]:
    opened = installed_engine(settings.engine)
    async with opened(settings, pack.data_dir) as engine:
        named = partial(pack.public_name, tools.result.name)
        yield Tasks(engine, settings, named, lambda task: pack.changed(f"{KEY}:{task}"))


@hookimpl
def mcp_host_tools() -> Sequence[Tool]:
    return [tools.result]


@hookimpl
def mcp_host_extensions(settings: TasksSettings) -> Sequence[Extension]:
    long_calls = LongCalls(
        methods.begin,
        methods.tell,
        methods.steer,
        after=settings.after,
        limit=settings.limit,
        without_extension=settings.without_extension,
        required=settings.required,
        asked_behind=settings.asked_in_task,
        never=settings.never,
    )
    own = [methods.get, methods.update, methods.cancel]
    followed = Subscriptions(KEY, "notifications/tasks", methods.agree, methods.get)
    return [
        Extension(methods.IDENTIFIER, methods=own, long_calls=long_calls, subscriptions=followed)
    ]


@hookimpl
def mcp_host_needs() -> Needs:
    return Needs(reads_environment=())


@hookimpl
def mcp_host_errors() -> Mapping[type[Exception], str]:
    return {
        errors.NoSuchTaskError: "not_found",
        errors.TooManyTasksError: "busy",
        errors.NoEngineError: "unavailable",
    }
