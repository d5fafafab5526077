"""The tasks and the state of the repository, to be read and watched."""

import json
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from mcp_host import Complete, Text, resource
from pydantic import Field

from .errors import CortexError
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
async def tasks(service: "Service", /) -> Text:
    """Every task assigned to you or shared with you."""

    async def listed() -> Mapping[str, Any]:
        found = await service.tasks()
        service.watch.tasks_were_read(found)
        return found

    return await _or_what_is_missing(service, listed())


@resource(f"{TASKS}/{{id}}", mime=MIME, title="A task")
async def task(service: "Service", /, id: TaskNumber) -> str:
    """One task: description, comments, CI and reviews. Others wrote what is marked so."""
    found = await service.task(id)
    service.watch.task_was_read(int(id), found)
    return json.dumps(found, ensure_ascii=False)


@resource(STATUS, mime=MIME, title="Where I stand")
async def status(service: "Service", /) -> Text:
    """The current branch, its task, and what is not submitted yet."""

    async def standing() -> Mapping[str, Any]:
        tree = service.watch.tree()
        found = await service.status()
        service.watch.status_was_read(found, tree)
        return found

    return await _or_what_is_missing(service, standing())


async def _or_what_is_missing(service: "Service", reading: Awaitable[Mapping[str, Any]]) -> Text:
    """Return what is read, or what to do where the pack is not set up.

    Clients read what is listed, and some give up on all of it where one resource fails.
    """
    try:
        return Text(json.dumps(await reading, ensure_ascii=False), MIME)
    except CortexError as error:
        missing = service.missing(error)
        if missing is None:
            raise
        envelope = {
            "success": False,
            "error": f"Cortex is not set up here: {missing.reason}",
            "code": error.code,
            "retryable": False,
            "suggestions": [missing.remedy],
        }
        return Text(json.dumps(envelope, ensure_ascii=False), MIME, {"mcp-host/error": envelope})


ALL = (tasks, task, status)
