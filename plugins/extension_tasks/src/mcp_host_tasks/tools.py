"""The one tool, for clients that do not know the extension."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from mcp_host import Context, Result, Text, tool
from pydantic import Field

from .service import Tasks

LOOK = 0.5
"""Seconds between two looks at a task."""


@tool(read_only=True, output=None, timeout=90)
async def result(
    tasks: Tasks,
    /,
    task_id: Annotated[str, Field(description="The task, as the tool's answer named it")],
    context: Context,
    wait: Annotated[float, Field(description="Seconds to wait for its end", ge=0, le=60)] = 20,
) -> Result:
    """Return the result of a call that ran long and goes on as a task.

    Where the task still runs after the wait, its state: call again. Tasks are known to the caller
    who began them, and to nobody else.
    """
    whose = context.caller.identity
    ends = time.monotonic() + wait
    task = await tasks.get(task_id, whose)
    while not task.has_ended and time.monotonic() < ends:
        await asyncio.sleep(LOOK)
        task = await tasks.get(task_id, whose)
    if task.status == "completed" and task.result is not None:
        return _passed_on(dict(task.result))
    told = json.dumps(task.detailed(), ensure_ascii=False)
    return Result([Text(told)], is_error=task.status == "failed")


@dataclass(frozen=True)
class _Part:
    """A part of a result as it is written already."""

    written: Mapping[str, Any]

    def wire(self) -> dict[str, Any]:
        return dict(self.written)


def _passed_on(result: Mapping[str, Any]) -> Result:
    """The result of the call as this tool's own."""
    parts: Any = [_Part(part) for part in result.get("content", ())]
    is_error = result.get("isError") is True
    return Result(parts, result.get("structuredContent"), is_error=is_error)
