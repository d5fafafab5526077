"""The five tools: what a model sees of the plan."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from mcp_host import Ask, Cancelled, Context, Form, Page, tool
from pydantic import Field

from .errors import StoppedError

if TYPE_CHECKING:
    from .service import Caller, Page as Rows, Service

# What stands inside an item is shown here and checked by the service, which answers for every
# failing item by its index, in words that say what is right.
_FACTS = 5
_TIME_TO_TELL, _SHARE_TO_TELL = 0.5, 0.2
"""So long before its deadline a call is given up, in seconds and as a part of the time it has."""
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
    "discovered_from": _TEXT,
    "done_when": {**_IDS, "description": "Conditions, by the names in the person's settings"},
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
                "next",
                "note",
                "undo",
            ]
        },
        **_FIELDS,
        "status": {"enum": ["pending", "completed", "cancelled"]},
        "if_revision": {"type": "integer", "description": "Refuse if the task changed since"},
        "add_tags": _IDS,
        "remove_tags": _IDS,
        "add_blockers": _IDS,
        "remove_blockers": _IDS,
        "note": {**_TEXT, "description": "Left at the task for whoever takes it up"},
        "agent": {**_TEXT, "description": "Your name, where several agents share a connection"},
        "lease_seconds": {"type": "integer"},
        "token": {**_TEXT, "description": "The claim_token that shows the claim is yours"},
        "event_id": {
            "type": "integer",
            "description": "undo: this event; else the task's last, else your last call",
        },
        "undo_token": {**_TEXT, "description": "Where the call to undo answered one"},
    },
    "required": ["action"],
}

Items = Annotated[list[Any], Field(json_schema_extra={"items": _NEW}, description="The new tasks")]
Operations = Annotated[
    list[Any], Field(json_schema_extra={"items": _OPERATION}, description="One or more")
]
Key = Annotated[
    str | None, Field(description="Repeating a call with its key returns its first answer")
]
Shape = Annotated[
    str | None,
    Field(
        json_schema_extra={"enum": ["full", "compact"]},
        description="By default full up to ten, above rows with what changed",
    ),
]
DryRun = Annotated[bool, Field(description="Try it, keep nothing")]
When = Annotated[str | None, Field(description="ISO 8601 or words")]
View = dict[str, Any]


@tool(title="Project", read_only=True, open_world=False, output="open")
def project_info(service: "Service", /, context: Context) -> View:
    """Return the project's name, description, valid statuses, task counts and time zone."""
    return dict(service.tasks().info(guard(context)))


def keeps_nothing(dry_run: bool) -> bool:
    """Tell whether a call only tries what it would do."""
    return dry_run


@tool(
    title="Create tasks",
    destructive=False,
    idempotent=keeps_nothing,
    key="idempotency_key",
    open_world=False,
    output="open",
)
def create_tasks(
    service: "Service",
    /,
    tasks: Items,
    context: Context,
    idempotency_key: Key = None,
    dry_run: DryRun = False,
    view: Shape = None,
) -> list[View] | Page[View]:
    """Create tasks, all or none; a whole plan in one call by ref. Priority 5 is the highest."""
    return _list_or_page(
        service.create(
            tasks,
            caller(service, context),
            guard(context),
            key=idempotency_key,
            dry_run=dry_run,
            view=view,
        )
    )


def agreed(
    service: "Service", /, operations: list[Any], dry_run: bool, context: Context
) -> Form[bool] | bool:
    """Ask before tasks are deleted that others hang on; a client that cannot be asked is not."""
    if dry_run or "elicitation" not in context.caller.offers:
        return True
    facts = service.at_stake(operations, guard(context))
    if not facts:
        return True
    more = f" And {len(facts) - _FACTS} more." if len(facts) > _FACTS else ""
    return Form(f"Delete? {' '.join(facts[:_FACTS])}{more}", bool)


@tool(
    title="Edit tasks",
    destructive=True,
    idempotent=keeps_nothing,
    key="idempotency_key",
    open_world=False,
    output="open",
)
def edit_tasks(
    service: "Service",
    /,
    operations: Operations,
    context: Context,
    idempotency_key: Key = None,
    dry_run: DryRun = False,
    view: Shape = None,
    *,
    sure: Annotated[bool, Ask(agreed)],
) -> list[View] | Page[View]:
    """Apply operations in order, all or none.

    update changes the fields given ("" clears due_date and subtask_of). claim takes a task for a
    while and returns claim_token; renew or release it. next chooses the ready task (with tags)
    that unblocks most, claims it, says why and shows it in full. While another holds a task, it
    cannot be completed, cancelled or deleted. undo takes back your last call, a task's last
    change, or an event.
    """
    if not sure:
        raise Cancelled("The user does not want it; nothing was changed.")
    return _list_or_page(
        service.edit(
            operations,
            caller(service, context),
            guard(context),
            key=idempotency_key,
            dry_run=dry_run,
            view=view,
        )
    )


@tool(title="Search tasks", read_only=True, open_world=False, output="open")
def search_tasks(
    service: "Service",
    /,
    context: Context,
    status: Annotated[
        str | None,
        Field(
            json_schema_extra={"enum": ["pending", "completed", "cancelled"]},
            description="Left out: all",
        ),
    ] = None,
    search: Annotated[
        str | None, Field(description="Words, or their beginnings, all in name and details")
    ] = None,
    created_after: When = None,
    due_before: Annotated[str | None, Field(description="Inclusive")] = None,
    priority: Annotated[int | None, Field(description="1 to 5")] = None,
    tags: Annotated[list[str] | None, Field(description="All of these")] = None,
    ready: Annotated[
        bool, Field(description="Pending, nothing open blocks it, nobody else claims it")
    ] = False,
    claimed_by: Annotated[str | None, Field(description='"me", a name, or "*" for anybody')] = None,
    sort: Annotated[
        str | None,
        Field(json_schema_extra={"enum": ["unblocks"]}, description="With ready"),
    ] = None,
    limit: Annotated[int, Field(description="1 to 200")] = 50,
    cursor: Annotated[
        str | None, Field(description="next_cursor of the page before, or of a write's answer")
    ] = None,
) -> Page[View]:
    """Find tasks: compact rows, highest priority first, then nearest due date.

    Read the ones you need with {tool:get_tasks}.
    """
    page = service.search(
        caller(service, context),
        guard(context),
        status=status,
        search=search,
        created_after=created_after,
        due_before=due_before,
        priority=priority,
        tags=tags or (),
        ready=ready,
        claimed_by=claimed_by,
        sort=sort,
        limit=limit,
        cursor=cursor,
    )
    return _page(page)


@tool(title="Get tasks", read_only=True, open_world=False, output="open")
def get_tasks(
    service: "Service",
    /,
    task_ids: Annotated[list[str], Field(description="Ids or unique beginnings of ids")],
    context: Context,
    depth: Annotated[
        int, Field(description="0 to 5: add tasks related within so many steps, 100 at most")
    ] = 0,
    fields: Annotated[
        list[str] | None, Field(description='Only these fields; "history" adds past changes')
    ] = None,
    view: Annotated[
        str | None,
        Field(json_schema_extra={"enum": ["full"]}, description="full: several are not cut"),
    ] = None,
) -> list[View]:
    """Return tasks in full, with blockers, blocked_by (still open), blocks, subtasks, revision."""
    views = service.get(task_ids, guard(context), depth=depth, fields=fields, view=view)
    return [dict(view) for view in views]


def _list_or_page(page: "Rows") -> list[View] | Page[View]:
    found = _page(page)
    return found if len(found.items) < found.total else list(found.items)


def _page(page: "Rows") -> Page[View]:
    notes = {**page.dates, **({"more_than_total": True} if page.has_more else {})}
    return Page([dict(row) for row in page.rows], page.total, page.next_cursor, notes)


def caller(service: "Service", context: Context) -> "Caller":
    """Return who calls: proven by a token, a session or a connection, or by nothing."""
    who = context.caller
    return service.caller(subject=who.subject, client=who.client, connection=who.connection)


def guard(context: Context) -> Callable[[], None]:
    """Return the check that ends work which nobody waits for any more. It does so a little before
    the deadline, so that the caller still hears that nothing was changed and may ask again."""
    enough = min(_TIME_TO_TELL, context.remaining * _SHARE_TO_TELL)

    def check() -> None:
        if context.cancelled or context.remaining < enough:
            raise StoppedError(
                "The call was given up or ran out of time; nothing was changed.", reason="stopped"
            )

    return check
