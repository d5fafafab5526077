"""The rules for files that cannot be used (F0), and for archived changes (A1 and A2)."""

from collections.abc import Iterator
from typing import Final

from ...model.tasks import Progress
from .registry import Flaw, rule


@rule("F0", "ERROR", "a file that cannot be used, and why")
def unusable(error: Exception) -> Iterator[Flaw]:
    told = str(error)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        told = f"{where}cannot be read: {error.strerror}"
    yield Flaw("file", told)


@rule("A1", "ERROR", "open tasks, though the change is archived")
def open_tasks(progress: Progress) -> Iterator[Flaw]:
    if progress.remaining:
        yield Flaw(
            "tasks.md",
            f"{progress.remaining} of {progress.total} tasks are not done, though it is archived.",
        )


@rule("A2", "ERROR", "an archived task file that cannot be read")
def unread_tasks(path: str) -> Iterator[Flaw]:
    yield Flaw(path, "The task file cannot be read.")


RULES: Final = (unusable, open_tasks, unread_tasks)
