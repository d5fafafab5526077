"""A task, and what may be asked of a list of them."""

import base64
import json
from dataclasses import dataclass, fields
from datetime import datetime
from json.encoder import encode_basestring_ascii as _quoted
from typing import Literal, Self

from .errors import BadCursorError, InvalidTaskError

Status = Literal["all", "pending", "completed"]
"""Which of a user's tasks a list is about."""

MAX_USER_ID = 255
MAX_TITLE = 255
MAX_KEY = 255
MAX_DESCRIPTION = 10_000
MAX_PAGE = 500
MAX_HISTORY = 200
MAX_TOTAL = 10_000
"""Up to here the tasks that match are counted one by one."""


@dataclass(frozen=True, slots=True)
class TaskCreate:
    """A new task; an empty description is none.

    Raises `InvalidTaskError`.
    """

    title: str
    description: str | None = None

    def __post_init__(self) -> None:
        required_text("title", self.title, MAX_TITLE)
        if self.description is not None:
            storable_text("description", self.description, MAX_DESCRIPTION)


@dataclass(frozen=True, slots=True)
class TaskUpdate:
    """What to change of a task: None leaves a field as it is, an empty description clears it.

    Raises `InvalidTaskError`.
    """

    title: str | None = None
    description: str | None = None

    def __post_init__(self) -> None:
        if self.title is not None:
            required_text("title", self.title, MAX_TITLE)
        if self.description is not None:
            storable_text("description", self.description, MAX_DESCRIPTION)

    @property
    def is_empty(self) -> bool:
        return self.title is None and self.description is None


@dataclass(frozen=True, slots=True)
class TaskRead:
    """A task as it is kept; times are aware, in UTC."""

    id: str
    title: str
    description: str | None
    is_completed: bool
    created_at: datetime

    def __init__(
        self,
        id: str,
        title: str,
        description: str | None,
        is_completed: bool,
        created_at: datetime,
    ) -> None:
        # As the decorator would write it, in less than half of the time: a page makes hundreds.
        _set_id(self, id)
        _set_title(self, title)
        _set_description(self, description)
        _set_is_completed(self, is_completed)
        _set_created_at(self, created_at)


_set_id, _set_title, _set_description, _set_is_completed, _set_created_at = (
    vars(TaskRead)[field.name].__set__ for field in fields(TaskRead)
)


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the list, newest first: just after the task `id`, created at `created_at`.

    `created_at` is an ISO 8601 time as its store understands it.
    """

    created_at: str
    id: str

    @property
    def cursor(self) -> str:
        """The position as text for clients, who are not to look into it."""
        # As `json.dumps` writes a list of the two, which makes an encoder for each.
        text = f"[{_quoted(self.created_at)}, {_quoted(self.id)}]"
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def read(cls, cursor: str) -> Self:
        """The position that a cursor stands for.

        Raises `BadCursorError`.
        """
        try:
            text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
            created_at, task_id = json.loads(text)
            datetime.fromisoformat(created_at)
            f"{created_at}{task_id}".encode()  # no database takes a lone surrogate
        except (ValueError, TypeError, RecursionError):
            raise BadCursorError from None
        if not isinstance(task_id, str) or "\0" in created_at + task_id:
            raise BadCursorError
        return cls(created_at, task_id)


@dataclass(frozen=True, slots=True)
class TaskPage:
    """Some tasks, newest first; `next` is None on the last page.

    `total` counts all that match, up to `MAX_TOTAL`; `more_than_total` says that there are more.
    """

    tasks: tuple[TaskRead, ...]
    total: int
    next: Position | None
    more_than_total: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to a task, when, and who did it as far as that is known.

    `action` is added, completed, reopened, updated, deleted or restored; `fields` names what an
    update gave, and `title` is the title afterwards.
    """

    at: datetime
    action: str
    task_id: str
    title: str
    fields: str | None
    actor: str | None


def required_text(field: str, text: str, limit: int) -> None:
    """Raise `InvalidTaskError` unless the text says something, fits and can be kept."""
    if not text.strip():
        raise InvalidTaskError(field, f"{field} is required: it must not be empty")
    storable_text(field, text, limit)


def storable_text(field: str, text: str, limit: int) -> None:
    """Raise `InvalidTaskError` for a text that is too long or that a database cannot hold."""
    if len(text) > limit:
        raise InvalidTaskError(
            field, f"{field} must be at most {limit} characters long, not {len(text)}"
        )
    if "\0" in text:
        raise InvalidTaskError(field, f"{field} must not hold a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidTaskError(field, f"{field} must not hold a lone surrogate") from None
