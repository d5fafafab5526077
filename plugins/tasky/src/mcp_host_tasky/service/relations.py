"""What can be wrong with how tasks relate, as after a merge of two branches."""

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from ..model import Task

_SHOWN = 20


def damage(tasks: Iterable[Task]) -> list[str]:
    """Say which tasks refer to one that is not there, and which wait for or contain themselves."""
    known = {task.task_id: task for task in tasks}
    found = [
        f"“{task.name}” ({task.task_id}) refers to {other}, which is not there."
        for task in known.values()
        for other in (*task.blockers, *([task.subtask_of] if task.subtask_of else []))
        if other not in known
    ]
    waits = {key: task.blockers for key, task in known.items() if task.blockers}
    parents = {key: (task.subtask_of,) for key, task in known.items() if task.subtask_of}
    for graph, what in ((waits, "wait for each other"), (parents, "are part of each other")):
        circle = _circle(graph)
        names = [f"“{known[key].name}” ({key[:8]})" for key in circle[:_SHOWN] if key in known]
        if names:
            found.append(f"These tasks {what}: {', '.join(names)}.")
    return found


def _circle(graph: Mapping[str, Iterable[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        path: list[str] = error.args[1]
        return path[:-1]
    return []
