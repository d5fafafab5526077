"""The tasks and the state of the repository, to be read and watched."""

import json
from typing import TYPE_CHECKING

from mcp_host import resource

from mcp_host_cortex_tasks.completion import TaskNumber
from mcp_host_cortex_tasks.uris import STATUS, TASKS

if TYPE_CHECKING:
    from mcp_host_cortex_tasks.service.command import Ctx

MIME = "application/json"


@resource(TASKS, mime=MIME, title="My tasks")
async def tasks(ctx: "Ctx", /) -> str:
    """Every task assigned to you or shared with you."""
    ctx.watched()
    return json.dumps(await ctx.tasks(), ensure_ascii=False)


@resource(f"{TASKS}/{{id}}", mime=MIME, title="A task")
async def task(ctx: "Ctx", /, id: TaskNumber) -> str:
    """One task with its description."""
    ctx.watched()
    return json.dumps(await ctx.task(id), ensure_ascii=False)


@resource(STATUS, mime=MIME, title="Where I stand")
async def status(ctx: "Ctx", /) -> str:
    """The current branch, its task, and what is not submitted yet."""
    ctx.watched()
    return json.dumps(await ctx.status(), ensure_ascii=False)


ALL = (tasks, task, status)
