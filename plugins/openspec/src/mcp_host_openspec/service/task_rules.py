"""The rules for a change's task files: C19 and C20."""

from collections.abc import Iterator

from ..model.findings import Finding
from ..model.tasks import TaskDocument


def missing_boxes(documents: dict[str, TaskDocument]) -> Iterator[Finding]:
    """C19: lists in task files none of which holds a task."""
    if any(document.tasks for document in documents.values()):
        return
    for path, document in documents.items():
        if document.first_list_item is not None:
            yield Finding(
                "C19",
                "WARNING",
                path,
                "There is a list but no task: a task has a box, '- [ ] 1.1 Description'.",
                document.first_list_item,
            )


def numbering(documents: dict[str, TaskDocument]) -> Iterator[Finding]:
    """C20: numbers under the wrong group, and numbers given twice."""
    first: dict[str, tuple[str, int]] = {}
    for path, document in documents.items():
        for task in document.numbered:
            if task.misplaced:
                yield Finding(
                    "C20",
                    "WARNING",
                    path,
                    f"Task {task.id} stands under group {task.group}; move or renumber it.",
                    task.line,
                )
            if task.id in first:
                where, line = first[task.id]
                yield Finding(
                    "C20",
                    "WARNING",
                    path,
                    f"Task {task.id} was given before, on line {line} of {where}.",
                    task.line,
                )
            else:
                first[task.id] = path, task.line
