"""What can go wrong with tasks and with the database that keeps them."""

from typing import ClassVar


class TodoError(Exception):
    """A failure that the caller can understand; `reason` is its stable word."""

    reason: ClassVar[str]

    def __init__(self, message: str, *, suggestions: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.suggestions = suggestions

    @property
    def details(self) -> dict[str, str]:
        return {"reason": self.reason}


class InvalidTask(TodoError):
    """A value that no task may have; `field` is the argument that holds it."""

    reason = "invalid_value"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field

    @property
    def details(self) -> dict[str, str]:
        return {"reason": self.reason, "field": self.field}


class BadCursor(TodoError):
    """A cursor that no page of tasks was answered with."""

    reason = "bad_cursor"

    def __init__(self) -> None:
        super().__init__(
            "cursor is not one that list_tasks answered with",
            suggestions=("Leave cursor out to begin with the newest task",),
        )


class TaskNotFound(TodoError):
    """No such task, or somebody else's: the two are told apart nowhere."""

    reason = "task_not_found"

    def __init__(self) -> None:
        super().__init__("Task not found or access denied")


class NotYourTasks(TodoError):
    """The known caller named another user."""

    reason = "not_your_tasks"

    def __init__(self) -> None:
        super().__init__(
            "user_id names somebody else: you may only use your own tasks",
            suggestions=("Pass your own user_id",),
        )


class UnknownUser(TodoError):
    """The database keeps a list of users, and this one is not on it."""

    reason = "unknown_user"

    def __init__(self, user_id: str) -> None:
        super().__init__(f"This database knows no user {user_id!r}, and keeps tasks of users only")
        self.user_id = user_id


class BadUrl(TodoError):
    """A database URL that cannot be used; the message never shows it."""

    reason = "bad_url"


class DatabaseUnavailable(TodoError):
    """The database at `place` (a host or a file, never a password) does not serve."""

    reason = "database_unavailable"

    def __init__(self, place: str, message: str, *, suggestions: tuple[str, ...] = ()) -> None:
        super().__init__(message, suggestions=suggestions)
        self.place = place

    @property
    def details(self) -> dict[str, str]:
        return {"reason": self.reason, "database": self.place}


class Unreachable(DatabaseUnavailable):
    """Nobody answers there, or what answers is no database."""

    reason = "database_unreachable"

    def __init__(self, place: str, why: str) -> None:
        super().__init__(
            place,
            f"The database at {place} cannot be reached: {why}",
            suggestions=("Check that it runs, and the url in the pack's settings",),
        )


class Refused(DatabaseUnavailable):
    """It answers, but does not let us do that."""

    reason = "database_refused"

    def __init__(self, place: str, why: str) -> None:
        super().__init__(
            place,
            f"The database at {place} refused: {why}",
            suggestions=("Check the user, password and rights behind the pack's url",),
        )


class TableMissing(DatabaseUnavailable):
    """There is no table `tasks` yet."""

    reason = "table_missing"

    def __init__(self, place: str) -> None:
        super().__init__(
            place,
            f"The database at {place} has no table tasks: make it with `todo-db-mcp init-db`",
            suggestions=("Run `todo-db-mcp init-db` once with the same url",),
        )


class TableUnfit(DatabaseUnavailable):
    """The table `tasks` has not the columns of a task."""

    reason = "table_unfit"

    def __init__(self, place: str, why: str) -> None:
        super().__init__(
            place,
            f"The table tasks of the database at {place} cannot be used: {why}",
            suggestions=("Use a database whose table tasks has the columns of the README",),
        )


class Busy(TodoError):
    """Too much at once; the same call may succeed in a moment."""

    reason = "database_busy"

    def __init__(self, place: str) -> None:
        super().__init__(f"The database at {place} is busy: try again in a moment")
        self.place = place
