"""The five tools: what a model sees of the to-do list.

The model is imported in the tools that make something of it: lists do without it.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal, NotRequired

from mcp_host import Context, Page, tool
from pydantic import Field
from typing_extensions import TypedDict  # pydantic cannot use typing's before Python 3.12

from .limits import MAX_DESCRIPTION, MAX_PAGE, MAX_TITLE, MAX_USER_ID, Status

if TYPE_CHECKING:
    from . import model
    from .service import TaskService

# The lengths stand in the schemas alone: the model checks them, in words that say more.
UserId = Annotated[
    str,
    Field(
        description="Whose tasks these are: the user's id",
        json_schema_extra={"minLength": 1, "maxLength": MAX_USER_ID},
    ),
]
TaskId = Annotated[str, Field(description="The task's id, as {tool:list_tasks} shows it")]
Title = Annotated[
    str,
    Field(
        description="What is to be done",
        json_schema_extra={"minLength": 1, "maxLength": MAX_TITLE},
    ),
]


class Added(TypedDict):
    task_id: str
    status: Literal["created"]
    title: str


class Completed(TypedDict):
    task_id: str
    status: Literal["completed", "pending"]
    title: str


class Updated(TypedDict):
    task_id: str
    status: Literal["updated"]
    title: str
    changed: NotRequired[list[str]]


class Deleted(TypedDict):
    task_id: str
    status: Literal["deleted"]
    title: str


class TaskRead(TypedDict):
    """A task as it is kept; times are aware, in UTC."""

    id: str
    title: str
    description: str | None
    is_completed: bool
    created_at: datetime


@tool(title="Add a task", destructive=False, open_world=False)
async def add_task(
    tasks: "TaskService",
    /,
    user_id: UserId,
    title: Title,
    context: Context,
    description: Annotated[
        str | None,
        Field(description="More about it", json_schema_extra={"maxLength": MAX_DESCRIPTION}),
    ] = None,
) -> Added:
    """Add a task to a user's to-do list. Calling it twice adds two tasks."""
    from .model import TaskCreate

    task = await tasks.add(user_id, TaskCreate(title, description), caller=context.caller.subject)
    return Added(task_id=task.id, status="created", title=task.title)


@tool(title="List tasks", read_only=True, open_world=False)
async def list_tasks(
    tasks: "TaskService",
    /,
    user_id: UserId,
    context: Context,
    status: Annotated[Status, Field(description="Only tasks in this state")] = "all",
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Tasks at most")] = MAX_PAGE,
    cursor: Annotated[
        str | None, Field(description="next_cursor of the page before, to get the next one")
    ] = None,
) -> Page[TaskRead]:
    """List a user's tasks, newest first. When more remain, next_cursor leads to them."""
    page = await tasks.page(
        user_id, status, limit=limit, cursor=cursor, caller=context.caller.subject
    )
    shown = [_shown(task) for task in page.tasks]
    return Page(shown, page.total, page.next.cursor if page.next else None)


@tool(title="Complete a task", destructive=False, open_world=False)
async def complete_task(
    tasks: "TaskService",
    /,
    user_id: UserId,
    task_id: TaskId,
    context: Context,
    completed: Annotated[
        bool | None,
        Field(
            description="true: done, false: not done, both safe to repeat;"
            " without it the state flips with every call"
        ),
    ] = None,
) -> Completed:
    """Mark a task as done, or as not done again."""
    task = await tasks.complete(
        user_id, task_id, completed=completed, caller=context.caller.subject
    )
    status: Literal["completed", "pending"] = "completed" if task.is_completed else "pending"
    return Completed(task_id=task.id, status=status, title=task.title)


@tool(title="Update a task", destructive=True, idempotent=True, open_world=False)
async def update_task(
    tasks: "TaskService",
    /,
    user_id: UserId,
    task_id: TaskId,
    context: Context,
    title: Annotated[
        str | None,
        Field(
            description="The new title",
            json_schema_extra={"minLength": 1, "maxLength": MAX_TITLE},
        ),
    ] = None,
    description: Annotated[
        str | None,
        Field(
            description="The new description; empty clears it",
            json_schema_extra={"maxLength": MAX_DESCRIPTION},
        ),
    ] = None,
) -> Updated:
    """Change a task's title or description; what is not given stays as it is."""
    from .model import TaskUpdate

    changes = TaskUpdate(title, description)
    task = await tasks.update(user_id, task_id, changes, caller=context.caller.subject)
    answer = Updated(task_id=task.id, status="updated", title=task.title)
    return {**answer, "changed": []} if changes.is_empty else answer


@tool(title="Delete a task", destructive=True, idempotent=True, open_world=False)
async def delete_task(
    tasks: "TaskService", /, user_id: UserId, task_id: TaskId, context: Context
) -> Deleted:
    """Delete a task for good."""
    task = await tasks.delete(user_id, task_id, caller=context.caller.subject)
    return Deleted(task_id=task.id, status="deleted", title=task.title)


def _shown(task: "model.TaskRead") -> TaskRead:
    return TaskRead(
        id=task.id,
        title=task.title,
        description=task.description,
        is_completed=task.is_completed,
        created_at=task.created_at,
    )
