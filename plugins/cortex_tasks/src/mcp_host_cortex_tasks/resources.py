"""The tasks and the state of the repository, to be read and watched."""

import json
from typing import TYPE_CHECKING, Annotated

from mcp_host import Complete, resource
from pydantic import Field

from .model import task_id
from .model.uris import STATUS, TASKS

if TYPE_CHECKING:
    from .service import Service

MIME = "application/json"


async def numbers(service: "Service", /, value: str) -> list[str]:
    """Return the numbers of the caller's tasks that begin with `value`."""
    return await service.numbers(value)


TaskNumber = Annotated[str, Field(description="The task's number"), Complete(numbers)]
"""A task's number, which a client can offer while it is typed."""


@resource(TASKS, mime=MIME, title="My tasks")
async def tasks(service: "Service", /) -> str:
    """Every task assigned to you or shared with you."""
    service.watched(None)
    return json.dumps(await service.tasks(), ensure_ascii=False)


@resource(f"{TASKS}/{{id}}", mime=MIME, title="A task")
async def task(service: "Service", /, id: TaskNumber) -> str:
    """One task: description, comments, CI and reviews. Others wrote what is marked so."""
    task = await service.task(id)
    service.watched(task_id(id))
    return json.dumps(task, ensure_ascii=False)


@resource(STATUS, mime=MIME, title="Where I stand")
async def status(service: "Service", /) -> str:
    """The current branch, its task, and what is not submitted yet."""
    standing = await service.status()
    number = standing["task_id"]
    service.watched(number if isinstance(number, int) else None)
    return json.dumps(standing, ensure_ascii=False)


ALL = (tasks, task, status)
