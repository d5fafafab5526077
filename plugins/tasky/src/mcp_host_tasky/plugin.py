"""What this pack answers to the host's questions."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from mcp_host import PackHandle, Prompt, Resource, Tool, hookimpl

from . import errors, prompts, resources, tools
from .settings import TaskySettings

if TYPE_CHECKING:
    from .opened import Opened

log = logging.getLogger(__name__)

# Writes that follow each other closely are told of together.
_TOGETHER_SECONDS = 0.05


@hookimpl
def mcp_host_settings() -> type[TaskySettings]:
    return TaskySettings


@hookimpl
@asynccontextmanager
async def mcp_host_open(settings: TaskySettings, pack: PackHandle) -> AsyncIterator["Opened"]:
    # The stores come with these: a pack that is only listed does not wait for them.
    from .opened import Opened, Told
    from .storage import Home

    loop = asyncio.get_running_loop()
    written = asyncio.Event()

    def degraded(error: errors.TaskyError) -> None:
        is_unmade = error.reason in ("no_project", "no_store", "no_url")
        code = "not_set_up" if is_unmade else error.reason
        pack.degraded(error.message, code=code, remedy=" ".join(error.suggestions))

    def wrote() -> None:
        loop.call_soon_threadsafe(written.set)

    told = Told(degraded, pack.recovered, wrote)
    opened = Opened(settings, Home.of_user(), told, pack.public_name)
    with suppress(errors.TaskyError):  # told as degraded; each call tries again
        await asyncio.to_thread(opened.tasks)
    watch = asyncio.create_task(_watch(opened, pack, written, settings.watch_seconds))
    try:
        yield opened
    finally:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch
        await asyncio.to_thread(opened.close)


async def _watch(
    opened: "Opened", pack: PackHandle, written: asyncio.Event, seconds: float
) -> None:
    """Tell of changes, our own at once, other processes' soon; tidy up when nobody writes."""
    seen: dict[int, int] = {}
    untidy = False
    while True:
        try:
            for uri in await asyncio.to_thread(_changed, opened, seen):
                pack.changed(uri)
        except errors.TaskyError as error:
            log.debug("the plan cannot be watched: %s", error)
        try:
            await asyncio.wait_for(written.wait(), seconds)
            untidy = True
            await asyncio.sleep(_TOGETHER_SECONDS)
        except TimeoutError:
            if untidy:
                untidy = False
                with suppress(errors.TaskyError):
                    await asyncio.to_thread(lambda: opened.tasks().tidy())
        written.clear()


def _changed(opened: "Opened", seen: dict[int, int]) -> list[str]:
    """Return the resources that changed since the event in `seen`, which is kept per plan."""
    tasks = opened.tasks()
    last = tasks.last_event()
    before = seen.get(id(tasks))
    seen.clear()
    seen[id(tasks)] = last
    if before is None or last <= before:
        return []
    changed = tasks.touched_after(before)
    return [resources.PROJECT, *(resources.task_uri(task_id) for task_id in changed)]


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
