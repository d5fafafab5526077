"""The five tools: what a model sees of the to-do list."""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

from mcp_host import Context, Page, TimedOut, Tool, Unavailable, tool
from pydantic import Field
from typing_extensions import TypedDict  # pydantic cannot use typing's before Python 3.12

from .errors import DatabaseUnavailableError, TookTooLongError
from .model import (
    MAX_DESCRIPTION,
    MAX_KEY,
    MAX_PAGE,
    MAX_TITLE,
    MAX_USER_ID,
    Status,
    TaskCreate,
    TaskRead,
    TaskUpdate,
)

if TYPE_CHECKING:
    from .service import TaskService

# The lengths stand in the schemas alone: the model checks them, in words that say more.
UserId = Annotated[
    str,
    Field(
        description="Whose tasks these are: the user's id",
        json_schema_extra={"minLength": 1, "maxLength": MAX_USER_ID},
    ),
]
CallersId = Annotated[
    str,
    Field(
        description="Whose tasks these are: the user's id; left out, the caller's",
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


Key = Annotated[
    str | None,
    Field(
        description="Your own id of this request: a repetition with the same key does nothing"
        " more and answers the same",
        json_schema_extra={"maxLength": MAX_KEY},
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


@tool(key="request_key", title="Add a task", destructive=False, open_world=False)
async def add_task(
    service: TaskService,
    /,
    user_id: UserId,
    title: Title,
    context: Context,
    description: Annotated[
        str | None,
        Field(description="More about it", json_schema_extra={"maxLength": MAX_DESCRIPTION}),
    ] = None,
    request_key: Key = None,
) -> Added:
    """Add a task to a user's to-do list. Calling it twice adds two tasks."""
    new = TaskCreate(title, description)
    with OutcomeTold(repeatable=context.key is not None):
        task = await service.add(user_id, new, caller=context.caller.subject, key=context.key)
    return Added(task_id=task.id, status="created", title=task.title)


@tool(title="List tasks", read_only=True, open_world=False)
async def list_tasks(
    service: TaskService,
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
    with OutcomeTold(repeatable=True):
        page = await service.page(
            user_id, status, limit=limit, cursor=cursor, caller=context.caller.subject
        )
    notes = {"more_than_total": True} if page.more_than_total else {}
    return Page(page.tasks, page.total, page.next.cursor if page.next else None, notes)


async def sets_the_state(completed: bool | None) -> bool:
    """Tell whether a call says which state it wants; without it the state flips."""
    return completed is not None


@tool(
    key="request_key",
    title="Complete a task",
    destructive=False,
    idempotent=sets_the_state,
    open_world=False,
)
async def complete_task(
    service: TaskService,
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
    request_key: Key = None,
) -> Completed:
    """Mark a task as done, or as not done again."""
    # The host says of a tool what holds for all its calls; `completed` decides it for this one,
    # so this one ends before the host gives it up.
    repeatable = completed is not None or context.key is not None
    within = 0.9 * context.remaining if repeatable else None
    with OutcomeTold(repeatable=repeatable):
        task = await service.complete(
            user_id,
            task_id,
            completed=completed,
            caller=context.caller.subject,
            within=within,
            key=context.key,
        )
    status: Literal["completed", "pending"] = "completed" if task.is_completed else "pending"
    return Completed(task_id=task.id, status=status, title=task.title)


@tool(key="request_key", title="Update a task", destructive=True, idempotent=True, open_world=False)
async def update_task(
    service: TaskService,
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
    request_key: Key = None,
) -> Updated:
    """Change a task's title or description; what is not given stays as it is."""
    changes = TaskUpdate(title, description)
    with OutcomeTold(repeatable=True):
        task = await service.update(
            user_id, task_id, changes, caller=context.caller.subject, key=context.key
        )
    answer = Updated(task_id=task.id, status="updated", title=task.title)
    return {**answer, "changed": []} if changes.is_empty else answer


@tool(key="request_key", title="Delete a task", destructive=True, idempotent=True, open_world=False)
async def delete_task(
    service: TaskService,
    /,
    user_id: UserId,
    task_id: TaskId,
    context: Context,
    request_key: Key = None,
) -> Deleted:
    """Delete a task for good."""
    with OutcomeTold(repeatable=True):
        task = await service.delete(
            user_id, task_id, caller=context.caller.subject, key=context.key
        )
    return Deleted(task_id=task.id, status="deleted", title=task.title)


class OutcomeTold:
    """Say of a call whose database failed whether it may be made again without harm.

    It may where nothing was sent, or where the call is `repeatable`. Where neither holds, its
    outcome is unknown. What a person must mend first is worth no second call.
    """

    __slots__ = ("_repeatable",)

    def __init__(self, *, repeatable: bool) -> None:
        self._repeatable = repeatable

    def __enter__(self) -> None:
        """Each call comes here: a generator would take three times as long."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, DatabaseUnavailableError):
            told = Unavailable(error.message, suggestions=error.suggestions, details=error.details)
            told.retryable = not error.lasting
            if error.sent and not self._repeatable:
                told.retryable = False
                told.details["outcome"] = "unknown"
                told.suggestions = [
                    "List the tasks to see whether it was done, before you repeat it"
                ]
            raise told from error
        if isinstance(error, TookTooLongError):
            late = TimedOut(error.message, details=error.details)
            late.retryable = self._repeatable
            raise late from error


def users_left_out(made: Tool) -> Tool:
    """The same tool, but that `user_id` may be left out and means the caller."""
    function = made.function
    signature = inspect.signature(function)
    user = signature.parameters["user_id"]

    @wraps(function)
    async def of_the_caller(
        service: TaskService, /, *, user_id: str | None = None, **given: Any
    ) -> Any:
        return await function(service, user_id=user_id, **given)

    of_the_caller.__annotations__ = {**function.__annotations__, "user_id": CallersId}
    of_the_caller.__signature__ = signature.replace(  # type: ignore[attr-defined]  # inspect's protocol
        parameters=[
            *(one for one in signature.parameters.values() if one is not user),
            user.replace(kind=user.KEYWORD_ONLY, default=None),
        ]
    )
    return replace(made, function=of_the_caller)
