"""What can go wrong.

TasksError
├── NoSuchTaskError     nothing is known of a task, or it is somebody else's
├── TooManyTasksError   a caller has as many tasks as the settings allow
└── NoEngineError       the engine that the settings name is not installed
"""

from collections.abc import Mapping, Sequence
from typing import Any


class TasksError(Exception):
    """Something that this pack refuses, with what helps."""

    reason = "tasks"

    def __init__(
        self,
        message: str,
        suggestions: Sequence[str] = (),
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.suggestions = list(suggestions)
        self.details = {"reason": self.reason, **(details or {})}


class NoSuchTaskError(TasksError):
    """Nothing is known of a task, or it is somebody else's: nobody is told which."""

    reason = "no_such_task"

    def __init__(self) -> None:
        super().__init__(
            "No such task: it was never begun by this caller, or its time to live is over",
            ["Call the tool again"],
        )


class TooManyTasksError(TasksError):
    """A caller has as many tasks as the settings allow."""

    reason = "too_many_tasks"


class NoEngineError(TasksError):
    """The engine that the settings name is not installed."""

    reason = "no_such_engine"
