"""How tasks are edited: content, states, notes, undo."""

from collections.abc import Sequence
from dataclasses import replace

from ..errors import ConflictError, InvalidError
from ..model import LIMITS, NO_DETAILS, Note, Status, Task
from . import claims, completion, inputs, values
from .creation import related
from .draft import Draft, Stamp
from .inputs import Operation
from .plan import clears
from .undoing import last_change, undo, undo_token_required
from .views import View
from .write import Work


def edit(work: Work, items: Sequence[object]) -> None:
    """Apply the operations in their order; each sees what those before it did."""
    operations: dict[int, Operation] = {}
    for index, item in enumerate(items):
        with work.item(index):
            operations[index] = inputs.read_operation(item)
    _foresee(work.draft, list(operations.values()))
    for index, operation in operations.items():
        with work.item(index):
            _operate(work, operation, work.stamp(index, operation.agent))


def _foresee(draft: Draft, operations: Sequence[Operation]) -> None:
    """Ask the store at once for the tasks that operations name and for what these are checked by:
    a question for each takes longer. What is no id, or no task's, is refused later."""
    draft.learn_ids({one for op in operations for one in (op.task_id, *_related_to(op))})
    told = [
        (op, task)
        for op in operations
        if (task_id := draft.whole_id(op.task_id)) and (task := draft.task(task_id))
    ]
    related = []
    for op, task in told:
        if not _relates(op):
            continue  # most change nothing of this, and a copy of each would be the dearest here
        after = _as_related(draft, op, task)
        if (after.blockers, after.subtask_of) != (task.blockers, task.subtask_of):
            related.append(after)
    draft.foresee(related)
    draft.foresee_ends([task for op, task in told if task.is_open and _ends(op)])
    draft.open_among({one for op, task in told if op.action == "claim" for one in task.blockers})
    draft.foresee_deletion([task.task_id for op, task in told if op.action == "delete"])


def _relates(operation: Operation) -> bool:
    """Whether an operation gives its task other blockers or makes it a part."""
    given = operation.fields
    changes = operation.add_blockers or operation.remove_blockers
    return bool(changes) or "blockers" in given or "subtask_of" in given


def _related_to(operation: Operation) -> list[str]:
    """Return how the operation names the tasks that another one comes to relate to."""
    said = [*operation.add_blockers, *operation.remove_blockers]
    blockers = operation.fields.get("blockers")
    said += blockers if isinstance(blockers, tuple) else ()
    for name in ("subtask_of", "discovered_from"):
        if name in operation.fields:
            said.append(str(operation.fields[name]))
    return said


def _as_related(draft: Draft, operation: Operation, task: Task) -> Task:
    """Return the task with the relations that an operation gives it, as far as it names tasks that
    are there."""

    def there(said: object) -> list[str]:
        named = said if isinstance(said, tuple) else (said,)
        whole = [draft.whole_id(one) for one in named if isinstance(one, str)]
        return [one for one in whole if one and draft.task(one)]

    fields = operation.fields
    blockers = there(fields["blockers"]) if "blockers" in fields else task.blockers
    added = {*blockers, *there(operation.add_blockers)}
    parent = there(fields["subtask_of"]) if "subtask_of" in fields else [task.subtask_of]
    return replace(
        task,
        blockers=tuple(sorted(added - {*there(operation.remove_blockers)})),
        subtask_of=parent[0] if parent else None,
    )


def _ends(operation: Operation) -> bool:
    """Whether an operation completes its task."""
    return operation.action == "complete" or operation.fields.get("status") is Status.COMPLETED


def _operate(work: Work, operation: Operation, stamp: Stamp) -> None:
    if operation.action == "undo":
        _undo(work, operation, stamp)
        return
    if operation.action == "next":
        claims.take_next(work, operation, stamp)
        return
    task = work.draft.found(operation.task_id)
    _check_revision(task, operation.if_revision)
    said: View = {}
    match operation.action:
        case "update":
            _update(work, task, operation, stamp)
        case "delete":
            claims.check_fence(work, task, operation, stamp)
            work.draft.delete(task, stamp)
        case "claim" | "renew":
            said = {"claim_token": claims.take(work, task, operation, stamp)}
            if operation.action == "claim" and work.draft.open_among(task.blockers):
                work.warn(stamp.item, "The task cannot be begun: tasks that it waits for are open.")
        case "release":
            claims.release(work, task, operation, stamp)
        case "note":
            pass
        case action:
            status = inputs.STATES[action]
            _check_transition(task, status)
            if task.status is not status:
                claims.check_fence(work, task, operation, stamp)
            if task.is_open and status is Status.COMPLETED:
                completion.check(work, task, stamp)
            work.draft.change(task, action, stamp, status=status)
            completion.close_parent(work, task, stamp)
    if operation.note is not None:
        _note(work, task.task_id, operation.note, stamp)
    work.touched(task.task_id, stamp, said)


def _undo(work: Work, operation: Operation, stamp: Stamp) -> None:
    event_id = operation.event_id
    if event_id is None and operation.task_id:
        if not stamp.actor.is_proven:
            raise undo_token_required()
        event_id = last_change(work.draft.reading, operation.task_id)

    def refuse_held(task: Task) -> None:
        claims.check_fence(work, task, operation, stamp)

    for task_id in undo(work.draft, event_id, stamp, operation.undo_token, refuse_held):
        task = work.draft.task(task_id)
        if task and operation.token is None:
            work.warn(stamp.item, claims.check_fence(work, task, operation, stamp, warns=True))
        work.touched(task_id, stamp)


def _note(work: Work, task_id: str, text: str, stamp: Stamp) -> None:
    task = work.draft.task(task_id)
    if task is None:
        raise InvalidError(
            "note cannot be left at a task that is deleted.",
            reason="invalid_note",
            suggestions=["Leave note out, or cancel the task instead."],
        )
    if len(task.notes) >= LIMITS.notes:
        raise ConflictError(
            f"“{task.name}” has {LIMITS.notes} notes, which is the most.",
            reason="too_many_notes",
            suggestions=["Sum them up in the task's details."],
        )
    work.draft.add_note(task, stamp, Note(stamp.at, stamp.actor.name, text))


def _update(work: Work, task: Task, operation: Operation, stamp: Stamp) -> None:
    content = dict(operation.fields)
    if "details" in content:
        content["details"] = str(content["details"]).strip() or NO_DETAILS
    if "status" in content:
        _check_transition(task, values.status(content["status"]))
    if "due_date" in content:
        said_due = str(content["due_date"])
        content["due_date"], content["due_at"] = work.due(stamp.item, said_due)
    if "blockers" in content:
        said = content["blockers"]
        assert isinstance(said, tuple)
        content["blockers"] = related(work.draft, "blockers", said)
    if "discovered_from" in content:
        origin = str(content["discovered_from"])
        content["discovered_from"] = (
            None if clears(origin) else related(work.draft, "discovered_from", [origin])[0]
        )
    if "subtask_of" in content:
        parent = str(content["subtask_of"])
        content["subtask_of"] = (
            None if clears(parent) else related(work.draft, "subtask_of", [parent])[0]
        )
    if operation.add_tags or operation.remove_tags:
        kept = {*task.tags, *operation.add_tags} - {*operation.remove_tags}
        content["tags"] = values.refuse_too_many_of(sorted(kept), "tags", LIMITS.tags)
    if operation.add_blockers or operation.remove_blockers:
        added = related(work.draft, "add_blockers", operation.add_blockers)
        removed = related(work.draft, "remove_blockers", operation.remove_blockers)
        waits = {*task.blockers, *added} - {*removed}
        content["blockers"] = values.refuse_too_many_of(sorted(waits), "blockers", LIMITS.relations)
    ends = content.get("status") in (Status.COMPLETED, Status.CANCELLED) and task.is_open
    work.warn(stamp.item, claims.check_fence(work, task, operation, stamp, warns=not ends))
    if task.is_open and content.get("status") is Status.COMPLETED:
        completion.check(work, task, stamp, content.get("done_when"))
    after = work.draft.change(task, "update", stamp, **content)
    completion.close_parent(work, task, stamp)
    if (after.blockers, after.subtask_of) != (task.blockers, task.subtask_of):
        work.draft.refuse_cycles(after)
        work.warn(stamp.item, work.draft.waits_within(after))


def _check_revision(task: Task, expected: int | None) -> None:
    if expected is not None and expected != task.shown_revision:
        raise ConflictError(
            f"“{task.name}” is at revision {task.shown_revision}, not {expected}.",
            reason="stale_revision",
            suggestions=["Get the task again and decide anew."],
            details={"revision": task.shown_revision},
        )


def _check_transition(task: Task, status: Status) -> None:
    if not task.status.may_become(status):
        raise ConflictError(
            f"Cannot transition task '{task.task_id}' from {task.status} to {status}.",
            reason="invalid_transition",
            suggestions=["pending becomes completed or cancelled; both become pending again."],
        )
