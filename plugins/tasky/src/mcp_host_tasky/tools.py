"""The five tools: what a model sees of the plan."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from mcp_host import Context, Page, tool
from pydantic import Field

from .errors import Stopped
from .service import Caller, Search

if TYPE_CHECKING:
    from .opened import Opened

# What stands inside an item is shown here and checked by the service, which answers for every
# failing item by its index, in words that say what is right.
_TEXT = {"type": "string"}
_IDS = {"type": "array", "items": _TEXT}
_FIELDS: dict[str, Any] = {
    "name": _TEXT,
    "details": _TEXT,
    "priority": {"type": "integer", "minimum": 1, "maximum": 5},
    "due_date": {**_TEXT, "description": "ISO 8601 or words (next friday)"},
    "tags": _IDS,
    "blockers": {**_IDS, "description": "Tasks to be done before this one"},
    "subtask_of": _TEXT,
}
_NEW: dict[str, Any] = {
    "type": "object",
    "properties": {
        **_FIELDS,
        "ref": {**_TEXT, "description": "Name for use in this call's blockers and subtask_of"},
    },
    "required": ["name"],
}
_OPERATION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "task_id": {**_TEXT, "description": "Id or unique beginning of it"},
        "id": {**_TEXT, "description": "Same as task_id"},
        "action": {
            "enum": [
                "update",
                "delete",
                "complete",
                "cancel",
                "reopen",
                "claim",
                "renew",
                "release",
                "undo",
            ]
        },
        **_FIELDS,
        "status": {"enum": ["pending", "completed", "cancelled"]},
        "if_revision": {"type": "integer", "description": "Refuse if the task changed since"},
        "agent": {**_TEXT, "description": "Who claims or undoes"},
        "lease_seconds": {"type": "integer"},
        "token": {**_TEXT, "description": "claim_token that claim returned"},
        "event_id": {
            "type": "integer",
            "description": "undo: this event; else the task's last, else your last call",
        },
    },
    "required": ["action"],
}

Items = Annotated[list[Any], Field(json_schema_extra={"items": _NEW})]
Operations = Annotated[list[Any], Field(json_schema_extra={"items": _OPERATION})]
Key = Annotated[
    str | None, Field(description="Repeating a call with its key returns its first answer")
]
DryRun = Annotated[bool, Field(description="Try it, keep nothing")]
When = Annotated[str | None, Field(description="ISO 8601 or words")]
View = dict[str, Any]


@tool(title="Project", read_only=True, open_world=False, output="open")
def project_info(opened: "Opened", /, context: Context) -> View:
    """Return the project's name, description, valid statuses, task counts and time zone."""
    return dict(opened.tasks().info(guard(context)))


@tool(title="Create tasks", destructive=False, open_world=False, output="open")
def create_tasks(
    opened: "Opened",
    /,
    tasks: Items,
    context: Context,
    idempotency_key: Key = None,
    dry_run: DryRun = False,
) -> list[View]:
    """Create tasks, all or none; a whole plan in one call by ref. Priority 5 is the highest."""
    views = opened.tasks().create(
        tasks,
        caller(context),
        idempotency_key=idempotency_key,
        dry_run=dry_run,
        guard=guard(context),
    )
    return [dict(view) for view in views]


@tool(title="Edit tasks", destructive=True, open_world=False, output="open")
def edit_tasks(
    opened: "Opened",
    /,
    operations: Operations,
    context: Context,
    idempotency_key: Key = None,
    dry_run: DryRun = False,
) -> list[View]:
    """Apply operations in order, all or none.

    update changes the fields given ("" clears due_date and subtask_of); claim takes a task for a
    while (returns claim_token), renew and release it; undo takes back your last call, a task's
    last change, or an event.
    """
    views = opened.tasks().edit(
        operations,
        caller(context),
        idempotency_key=idempotency_key,
        dry_run=dry_run,
        guard=guard(context),
    )
    return [dict(view) for view in views]


@tool(title="Search tasks", read_only=True, open_world=False, output="open")
def search_tasks(
    opened: "Opened",
    /,
    context: Context,
    status: Annotated[
        str | None, Field(json_schema_extra={"enum": ["pending", "completed", "cancelled"]})
    ] = None,
    search: Annotated[
        str | None, Field(description="Words, or their beginnings, all in name and details")
    ] = None,
    created_after: When = None,
    due_before: Annotated[str | None, Field(description="Inclusive")] = None,
    priority: Annotated[int | None, Field(description="1 to 5")] = None,
    tags: list[str] | None = None,
    ready: Annotated[
        bool, Field(description="Pending, nothing open blocks it, nobody else claims it")
    ] = False,
    limit: Annotated[int, Field(description="1 to 200")] = 50,
    cursor: Annotated[str | None, Field(description="next_cursor of the page before")] = None,
) -> Page[View]:
    """Find tasks: compact rows, highest priority first, then nearest due date.

    Read the ones you need with {tool:get_tasks}.
    """
    page = opened.tasks().search(
        Search(
            status=status,
            search=search,
            created_after=created_after,
            due_before=due_before,
            priority=priority,
            tags=tuple(tags or ()),
            ready=ready,
            limit=limit,
            cursor=cursor,
        ),
        caller(context),
        guard(context),
    )
    return Page([dict(row) for row in page.rows], page.total, page.next_cursor, page.dates)


@tool(title="Get tasks", read_only=True, open_world=False, output="open")
def get_tasks(
    opened: "Opened",
    /,
    task_ids: Annotated[list[str], Field(description="Ids or unique beginnings of ids")],
    context: Context,
    depth: Annotated[
        int, Field(description="0 to 5: add tasks related within so many steps, 100 at most")
    ] = 0,
    fields: Annotated[
        list[str] | None, Field(description='Only these fields; "history" adds past changes')
    ] = None,
) -> list[View]:
    """Return tasks in full, with blockers, blocked_by (still open), blocks, subtasks, revision."""
    return [dict(v) for v in opened.tasks().get(task_ids, depth, fields, guard(context))]


def caller(context: Context) -> Caller:
    """Return who calls: proven by a token, or known by the client's name and connection."""
    who = context.caller
    return Caller(f"{who.client or 'client'}-{who.connection[:8]}", who.subject)


def guard(context: Context) -> Callable[[], None]:
    """Return the check that ends work which nobody waits for any more."""

    def check() -> None:
        if context.cancelled:
            raise Stopped(
                "The call was given up or ran out of time; nothing was changed.", reason="stopped"
            )

    return check
