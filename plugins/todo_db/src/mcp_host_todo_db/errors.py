"""What can go wrong with tasks and with the database that keeps them, in one tree.

TodoError
├── InvalidTaskError               a value that no task may have
├── BadCursorError                 a cursor that no page of tasks was answered with
├── TaskNotFoundError              no such task, or somebody else's
├── UnknownUserError               a user that the database does not list
├── NotYourTasksError              the known caller named another user
├── BadUrlError                    a database URL that cannot be used
├── DatabaseUnavailableError       the database does not serve
│   ├── DatabaseUnreachableError   nobody answers there
│   ├── ConnectionLostError        the connection ended before the answer came
│   ├── DatabaseRefusedError       it does not let us do that
│   ├── TransactionPoolerError     a pooler changes the connection under our statements
│   ├── TableMissingError          there is no table `tasks` yet
│   ├── OwnTableMissingError       a table beside it was there at the start, and is no more
│   ├── TableUnfitError            the table `tasks` lacks what a task needs
│   └── RowSecurityMissingError    row-level security is wanted and does not hold
├── RequestKeyReusedError          a request_key that stood for another request
├── RequestKeyTakenError           a request_key that stands for a request already
├── NotKeptError                   what the settings or a missing table keep from being recorded
├── DatabaseBusyError              too much at once
└── TookTooLongError               no answer within the time that a caller gave
"""

from collections.abc import Sequence
from typing import ClassVar


class TodoError(Exception):
    """A failure that the caller can understand.

    `message` is a sentence for people, `reason` a stable word for programs; `suggestions` say what
    to do, and `details` are the facts, the reason among them.
    """

    reason: ClassVar[str]

    def __init__(self, message: str, *, suggestions: Sequence[str] = (), **details: str) -> None:
        super().__init__(message)
        self.message = message
        self.suggestions = list(suggestions)
        self.details = {"reason": self.reason, **details}


class InvalidTaskError(TodoError):
    """A value that no task may have; `field` is the argument that holds it."""

    reason = "invalid_value"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message, field=field)
        self.field = field


class BadCursorError(TodoError):
    """A cursor that no page of tasks was answered with."""

    reason = "bad_cursor"

    def __init__(self) -> None:
        super().__init__(
            "cursor must be one that list_tasks answered with",
            suggestions=["Leave cursor out to begin with the newest task"],
        )


class TaskNotFoundError(TodoError):
    """No such task, or somebody else's: nothing tells the two apart."""

    reason = "task_not_found"

    def __init__(self) -> None:
        super().__init__("Task not found or access denied")


class UnknownUserError(TodoError):
    """The database keeps a list of users, and this one is not on it."""

    reason = "unknown_user"

    def __init__(self, user_id: str) -> None:
        super().__init__(f"user_id must be a user of this database, not {user_id!r}")
        self.user_id = user_id


class NotYourTasksError(TodoError):
    """The known caller named another user."""

    reason = "not_your_tasks"

    def __init__(self) -> None:
        super().__init__(
            "user_id must be your own: you may only use your own tasks",
            suggestions=["Pass your own user_id"],
        )


class BadUrlError(TodoError):
    """A database URL that cannot be used; the message never shows it."""

    reason = "bad_url"


class DatabaseUnavailableError(TodoError):
    """The database at `place` (a host or a file, never a password) does not serve.

    `sent` says that a statement was sent whose end is not known; otherwise nothing was done.
    `lasting` errors stay until a person mends something.
    """

    reason = "database_unavailable"
    lasting: ClassVar[bool] = False
    sent = False

    def __init__(self, place: str, message: str, *, suggestions: Sequence[str] = ()) -> None:
        super().__init__(message, suggestions=suggestions, database=place)
        self.place = place


class DatabaseUnreachableError(DatabaseUnavailableError):
    """Nobody answers there, or what answers is no database."""

    reason = "database_unreachable"

    def __init__(self, place: str, why: str) -> None:
        super().__init__(
            place,
            f"The database at {place} cannot be reached: {why}",
            suggestions=["Check that it runs, and the url in the pack's settings"],
        )


class ConnectionLostError(DatabaseUnavailableError):
    """The connection ended before the answer came, after a statement was `sent` or before."""

    reason = "connection_lost"

    def __init__(self, place: str, why: str, *, sent: bool) -> None:
        super().__init__(
            place, f"The connection to the database at {place} was lost before it answered: {why}"
        )
        self.sent = sent


class DatabaseRefusedError(DatabaseUnavailableError):
    """It answers, but does not let us do that; `cure` is what a person must mend."""

    reason = "database_refused"
    lasting = True

    def __init__(
        self,
        place: str,
        why: str,
        cure: str = "Check the user, password and rights behind the pack's url",
    ) -> None:
        super().__init__(place, f"The database at {place} refused: {why}", suggestions=[cure])


class TransactionPoolerError(DatabaseUnavailableError):
    """A pooler in transaction mode forgets prepared statements, and the URL does not say so."""

    reason = "transaction_pooler"
    lasting = True

    def __init__(self, place: str) -> None:
        super().__init__(
            place,
            f"The database at {place} is behind a pooler in transaction mode,"
            " which keeps no prepared statements",
            suggestions=["Add pgbouncer=true to the url in the pack's settings"],
        )


class TableMissingError(DatabaseUnavailableError):
    """There is no table `tasks` yet."""

    reason = "table_missing"
    lasting = True

    def __init__(self, place: str) -> None:
        super().__init__(
            place,
            f"The database at {place} has no table tasks: make it with `todo-db-mcp init-db`",
            suggestions=["Run `todo-db-mcp init-db` once with the same url"],
        )


class OwnTableMissingError(DatabaseUnavailableError):
    """One of the pack's own tables was there when it was opened, and is no more."""

    reason = "own_table_missing"
    lasting = True

    def __init__(self, place: str, table: str) -> None:
        super().__init__(
            place,
            f"The database at {place} has no table {table} any more, which was there at the start:"
            " nothing was done",
            suggestions=[f"Bring {table} back from a backup, or start again to do without it"],
        )


class TableUnfitError(DatabaseUnavailableError):
    """The table `tasks` lacks what a task needs."""

    reason = "table_unfit"
    lasting = True

    def __init__(self, place: str, why: str) -> None:
        super().__init__(
            place,
            f"The table tasks of the database at {place} cannot be used: {why}",
            suggestions=["Use a database whose table tasks has the columns of the README"],
        )


class RowSecurityMissingError(DatabaseUnavailableError):
    """Row-level security is wanted and does not hold."""

    reason = "row_security_missing"
    lasting = True

    def __init__(self, place: str, why: str) -> None:
        super().__init__(
            place,
            f"row_security is set, but row-level security does not hold at {place}: {why}",
            suggestions=[
                "Run `todo-db-mcp migrate --row-security` as the owner of the tables, and serve"
                " as a role that neither owns them nor may bypass row-level security"
            ],
        )


class DatabaseBusyError(TodoError):
    """Too much at once; the same call may succeed in a moment."""

    reason = "database_busy"

    def __init__(self, place: str) -> None:
        super().__init__(f"The database at {place} is busy: try again in a moment")
        self.place = place


class NotKeptError(TodoError):
    """Something that the settings, or a table that is missing, keep from being recorded."""

    reason = "not_kept"

    def __init__(self, what: str, setting: str | None = None) -> None:
        wanted = f", and let {setting} be above 0" if setting else ""
        super().__init__(
            f"This database keeps no {what}: run `todo-db-mcp migrate`{wanted}",
            suggestions=["Run `todo-db-mcp migrate` once with the same url"],
        )


class RequestKeyReusedError(TodoError):
    """A request_key that stood for another request."""

    reason = "request_key_reused"

    def __init__(self, key: str) -> None:
        super().__init__(
            f"request_key {key!r} was used for another call",
            suggestions=["Repeat that call with the same arguments, or use a new request_key"],
        )


class RequestKeyTakenError(TodoError):
    """A request_key that stands for a request already; the store finds out for which."""

    reason = "request_key_taken"

    def __init__(self) -> None:
        super().__init__("request_key was used already")


class TookTooLongError(TodoError):
    """No answer within the time that a caller gave; what was sent may have been done."""

    reason = "took_too_long"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"The database did not answer within {seconds:.1f} s")
