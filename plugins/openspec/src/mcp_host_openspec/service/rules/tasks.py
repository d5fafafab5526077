"""The rules for a change's task files: C19 and C20."""

from collections.abc import Iterator

from ...model.tasks import TaskDocument
from .registry import Flaw, rule

TaskFiles = dict[str, TaskDocument]


@rule("C19", "WARNING", "a list in the task files, and no box to tick")
def missing_boxes(documents: TaskFiles) -> Iterator[Flaw]:
    if any(document.tasks for document in documents.values()):
        return
    for path, document in documents.items():
        if document.first_list_item is not None:
            yield Flaw(
                path,
                "There is a list but no task: a task has a box, '- [ ] 1.1 Description'.",
                document.first_list_item,
            )


@rule("C20", "WARNING", "a task's number under the wrong group, or given twice")
def numbering(documents: TaskFiles) -> Iterator[Flaw]:
    first: dict[str, tuple[str, int]] = {}
    for path, document in documents.items():
        for task in document.numbered:
            if task.misplaced:
                yield Flaw(
                    path,
                    f"Task {task.id} stands under group {task.group}; move or renumber it.",
                    task.line,
                )
            if task.id in first:
                where, line = first[task.id]
                yield Flaw(
                    path,
                    f"Task {task.id} was given before, on line {line} of {where}.",
                    task.line,
                )
            else:
                first[task.id] = path, task.line
