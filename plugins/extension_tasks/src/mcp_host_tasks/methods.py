"""The methods of the extension, and those that the host calls when a call runs long."""

from typing import Any

from mcp_host import Context, MissingCapability, method

from .service import Tasks

IDENTIFIER = "io.modelcontextprotocol/tasks"
WAIT = 30.0
"""Seconds that the host waits at once for what callers want."""


@method("tasks/get", read_only=True, named_by="taskId")
async def get(tasks: Tasks, /, taskId: str, context: Context) -> dict[str, Any]:
    """Return a task as it is now, with its result, its error or its questions."""
    _check(context)
    return (await tasks.get(taskId, context.caller.identity)).detailed()


@method("tasks/update", idempotent=True, named_by="taskId")
async def update(
    tasks: Tasks, /, taskId: str, inputResponses: dict[str, Any], context: Context
) -> dict[str, Any]:
    """Take answers to what a task asks; what it does not ask is ignored."""
    _check(context)
    await tasks.answer(taskId, context.caller.identity, inputResponses)
    return {}


@method("tasks/cancel", idempotent=True, named_by="taskId")
async def cancel(tasks: Tasks, /, taskId: str, context: Context) -> dict[str, Any]:
    """Have a task end; one that has ended stays as it is."""
    _check(context)
    await tasks.cancel(taskId, context.caller.identity)
    return {}


@method("tasks.agree")
async def agree(tasks: Tasks, /, names: list[str], context: Context) -> dict[str, Any]:
    """Say which of these tasks this caller may follow: own ones that this server tells of."""
    return {"names": await tasks.told_here(names, context.caller.identity)}


@method("tasks.begin")
async def begin(
    tasks: Tasks, /, tool: str, limit: float, has_output_schema: bool, context: Context
) -> dict[str, Any]:
    """Keep a new task, and return its handle with what the client is answered."""
    task = await tasks.begin(tool, limit, context.caller.identity)
    if context.extension(IDENTIFIER) is not None:
        return {"handle": task.id, "answer": {"resultType": "task", **task.summary()}}
    words = (
        f"{tool} still runs, and goes on as a task. Do not call it again: call "
        f'{tasks.result_tool()} with {{"task_id": "{task.id}"}} for its result.'
    )
    answer = {"content": [{"type": "text", "text": words}]}
    # A result that is no error is checked against the tool's output schema.
    return {"handle": task.id, "answer": {**answer, "isError": has_output_schema}}


@method("tasks.tell")
async def tell(tasks: Tasks, /, handle: str, events: list[dict[str, Any]]) -> dict[str, Any]:
    """Note what a call does behind its handle."""
    await tasks.follow(handle, events)
    return {}


@method("tasks.steer")
async def steer(tasks: Tasks, /) -> dict[str, Any]:
    """Wait for what callers want of the calls behind handles."""
    wishes = await tasks.wishes(WAIT)
    return {
        "cancel": [wish.task_id for wish in wishes if wish.cancel],
        "answers": {wish.task_id: dict(wish.answers) for wish in wishes if wish.answers},
    }


def _check(context: Context) -> None:
    if context.extension(IDENTIFIER) is None:
        raise MissingCapability(f"extensions.{IDENTIFIER}")
