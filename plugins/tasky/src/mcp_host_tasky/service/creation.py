"""How new tasks come into a plan: asked for in a call, or brought from elsewhere."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ..errors import InvalidError
from ..model import NO_DETAILS, Task
from . import inputs
from .draft import Draft
from .inputs import NewTask
from .write import Work

_NO_REFS: Mapping[str, str] = MappingProxyType({})


def create(work: Work, items: Sequence[object]) -> None:
    """Make the tasks that the items describe; they may refer to each other by `ref`."""
    specs: dict[int, NewTask] = {}
    for index, item in enumerate(items):
        with work.item(index):
            specs[index] = inputs.read_new_task(item)
    ids = {index: str(work.new_id()) for index in range(len(items))}
    refs = _refs(work, specs, ids)
    work.draft.learn_ids({one for spec in specs.values() for one in _named(spec)} - refs.keys())
    made: dict[int, Task] = {}
    for index, spec in specs.items():
        with work.item(index):
            made[index] = _new_task(work, index, spec, ids[index], refs)
    for index, task in made.items():
        work.draft.add(task, work.stamp(index))
    work.draft.foresee(made.values())
    for index, task in made.items():
        if task.blockers or task.subtask_of:
            with work.item(index):
                work.draft.refuse_cycles(task)
                work.warn(index, work.draft.waits_within(task))
        work.touched(task.task_id, work.stamp(index), {"ref": specs[index].ref})


def related(
    draft: Draft, field: str, said: Sequence[str], refs: Mapping[str, str] = _NO_REFS
) -> tuple[str, ...]:
    """Return the ids of the tasks that a field names, each once; a reference of this call goes
    before the beginning of an id."""
    found = {refs[one] if one in refs else draft.found(one, field).task_id for one in said}
    return tuple(sorted(found))


def _new_task(work: Work, index: int, spec: NewTask, task_id: str, refs: Mapping[str, str]) -> Task:
    due_date, due_at = work.due(index, spec.due_date)
    return Task(
        task_id=task_id,
        number=work.draft.new_number(),
        name=spec.name,
        details=spec.details or NO_DETAILS,
        status=work.plan.status,
        priority=spec.priority or work.plan.priority,
        due_date=due_date,
        due_at=due_at,
        tags=spec.tags,
        done_when=spec.done_when,
        created_at=work.moment,
        updated_at=work.moment,
        **_relations(work.draft, spec, refs),
    )


def _named(spec: NewTask) -> list[str]:
    """Return how the item names the tasks that it relates to."""
    return [*spec.blockers, *filter(None, (spec.subtask_of, spec.discovered_from))]


def _relations(draft: Draft, spec: NewTask, refs: Mapping[str, str]) -> dict[str, Any]:
    parent = [spec.subtask_of] if spec.subtask_of else []
    origin = [spec.discovered_from] if spec.discovered_from else []
    return {
        "blockers": related(draft, "blockers", spec.blockers, refs),
        "subtask_of": next(iter(related(draft, "subtask_of", parent, refs)), None),
        "discovered_from": next(iter(related(draft, "discovered_from", origin, refs)), None),
    }


def _refs(work: Work, specs: Mapping[int, NewTask], ids: Mapping[int, str]) -> dict[str, str]:
    """Return the ids that temporary references stand for."""
    refs: dict[str, str] = {}
    for index, spec in specs.items():
        if spec.ref is None:
            continue
        if spec.ref in refs:
            work.failures[index] = InvalidError(
                f"ref {spec.ref!r} is used twice.",
                reason="duplicate_ref",
                suggestions=["Give every task of the call a ref of its own."],
            )
        refs.setdefault(spec.ref, ids[index])
    return refs
