"""A task, what may be asked of one, and the names of its branch and worktree."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from ..errors import InvalidError, UnavailableError

TYPES = ("feature", "bug", "docs", "fix", "chore", "refactor")
PRIORITIES = ("LOW", "MEDIUM", "HIGH")
STATUSES = ("TODO", "IN_PROGRESS", "REVIEW", "DONE")
MAX_TITLE = 255
MAX_DESCRIPTION = 20_000
MAX_COMMENT = 2000
MAX_MESSAGE = 30_000  # with four bytes each still an argument that Linux takes
MAX_ID = 2**31 - 1

_TASK_BRANCH = re.compile(rf"^(?:{'|'.join(TYPES)})/task-([0-9]{{1,10}})-")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class Task:
    """A task as the backend tells it. Dates and times stay the ISO 8601 texts they came as."""

    id: int
    title: str
    description: str | None = None
    type: str = "feature"
    priority: str = "MEDIUM"
    status: str = "TODO"
    branch_name: str | None = None
    deadline: str | None = None
    project_id: int | None = None
    assignee_id: int | None = None
    collaborator_ids: tuple[int, ...] = ()
    created_at: str | None = None
    updated_at: str | None = None
    deleted_at: str | None = None

    def as_data(self) -> dict[str, object]:
        """Return the task as plain data, in the order of the fields."""
        data: dict[str, object] = {name: getattr(self, name) for name in self.__slots__}
        data["collaborator_ids"] = list(self.collaborator_ids)
        return data

    @property
    def new_branch(self) -> str:
        """The name of a branch for this task: the same everywhere, so that two starts agree."""
        seed = f"{self.id}\n{self.created_at or ''}\n{self.project_id or ''}"
        kind = self.type if self.type in TYPES else "feature"
        return f"{kind}/task-{self.id}-{hashlib.sha256(seed.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class Draft:
    """A task to be made. Checked on making, so that every store refuses the same drafts."""

    title: str
    project_id: int | None = None
    description: str | None = None
    type: str = "feature"
    priority: str = "MEDIUM"
    deadline: str | None = None
    assignee_id: int | None = None
    collaborator_ids: tuple[int, ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.title.strip():
            raise InvalidError("A task needs a title.")
        if len(self.title) > MAX_TITLE:
            raise InvalidError(
                f"A title has at most {MAX_TITLE} characters; this has {len(self.title)}."
            )
        if len(self.description or "") > MAX_DESCRIPTION:
            raise InvalidError(f"A description has at most {MAX_DESCRIPTION} characters.")
        if "\0" in self.title + (self.description or ""):
            raise InvalidError("Title and description cannot hold a NUL character.")
        one_of("type", self.type, TYPES)
        one_of("priority", self.priority, PRIORITIES)
        if self.deadline is not None:
            iso_date(self.deadline)


@dataclass(frozen=True, slots=True)
class Comment:
    """What somebody wrote to a task. `at` is an ISO 8601 text."""

    id: int
    author: str
    text: str
    at: str | None = None

    def as_data(self) -> dict[str, object]:
        """Return the comment as plain data."""
        return {"id": self.id, "author": self.author, "content": self.text, "created_at": self.at}


@dataclass(frozen=True, slots=True)
class User:
    """The caller, as the backend knows them."""

    id: int
    username: str
    email: str


def one_of(what: str, value: str, allowed: tuple[str, ...]) -> str:
    """Return `value` when it is allowed, else raise naming what is."""
    if value not in allowed:
        raise InvalidError(f"{what} is {value!r}; it must be one of {', '.join(allowed)}.")
    return value


def iso_date(text: str) -> str:
    """Return `text` when it is a date as YYYY-MM-DD that exists."""
    try:
        if not _DATE.fullmatch(text):
            raise ValueError
        date.fromisoformat(text)
    except ValueError:
        raise InvalidError(f"{text!r} is not a date; write it as YYYY-MM-DD.") from None
    return text


def check_message(message: str | None) -> None:
    """Raise for a commit message that git cannot take or that says nothing."""
    if message is None:
        return
    if not message.strip():
        raise InvalidError("The commit message is empty.", reason="commit_message_required")
    if "\0" in message:
        raise InvalidError("A commit message cannot hold a NUL character.", reason="bad_message")
    if len(message) > MAX_MESSAGE:
        raise InvalidError(
            f"A commit message has at most {MAX_MESSAGE} characters.", reason="bad_message"
        )


def check_comment(text: str | None) -> None:
    """Raise for a comment that no backend takes."""
    if text is None:
        return
    if not text.strip():
        raise InvalidError("The comment is empty.", reason="bad_comment")
    if len(text) > MAX_COMMENT or "\0" in text:
        raise InvalidError(
            f"A comment has at most {MAX_COMMENT} characters, and no NUL character.",
            reason="bad_comment",
        )


def task_id(value: object) -> int:
    """Return a task's number from what a person or a program gave."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{1,10}", text):
        raise InvalidError(
            f"Invalid task id {_short(value)}: it must be a whole number from 1 to {MAX_ID}.",
            reason="bad_task_id",
        )
    number = int(text)
    if not 1 <= number <= MAX_ID:
        raise InvalidError(
            f"Invalid task id {number}: it must be a whole number from 1 to {MAX_ID}.",
            reason="bad_task_id",
        )
    return number


def task_of_branch(branch: str) -> int | None:
    """Return the task that a branch is named after, None for any other branch."""
    found = _TASK_BRANCH.match(branch)
    return int(found[1]) if found and 1 <= int(found[1]) <= MAX_ID else None


def parse_task(data: object) -> Task:
    """Return a task from a backend's JSON; raise `UnavailableError` when it is none."""
    if not isinstance(data, Mapping):
        raise bad_answer(f"a task should be an object, not {type(data).__name__}")
    shared = data.get("collaborator_ids") or []
    if not isinstance(shared, list):
        raise bad_answer("collaborator_ids should be an array")
    return Task(
        id=_number(data, "id"),
        title=_text(data, "title") or "",
        description=_text(data, "description"),
        type=_text(data, "type") or "feature",
        priority=_text(data, "priority") or "MEDIUM",
        status=_text(data, "status") or "TODO",
        branch_name=_text(data, "branch_name") or None,
        deadline=_text(data, "deadline"),
        project_id=_optional_number(data, "project_id"),
        assignee_id=_optional_number(data, "assignee_id"),
        collaborator_ids=tuple(item for item in shared if isinstance(item, int)),
        created_at=_text(data, "created_at"),
        updated_at=_text(data, "updated_at"),
        deleted_at=_text(data, "deleted_at"),
    )


def parse_user(data: object) -> User:
    """Return a user from a backend's JSON."""
    if not isinstance(data, Mapping):
        raise bad_answer(f"a user should be an object, not {type(data).__name__}")
    return User(_number(data, "id"), _text(data, "username") or "", _text(data, "email") or "")


def parse_comment(data: object) -> Comment:
    """Return a comment from a backend's JSON."""
    if not isinstance(data, Mapping):
        raise bad_answer("a comment should be an object")
    author = data.get("author")
    if isinstance(author, Mapping):
        author = author.get("username")
    return Comment(
        _number(data, "id"), str(author or ""), _text(data, "content") or "",
        _text(data, "created_at"),
    )  # fmt: skip


def bad_answer(what: str) -> UnavailableError:
    """The error for a backend that answers something that is not its API."""
    return UnavailableError(
        f"The backend's answer makes no sense: {what}.",
        reason="bad_answer",
        suggestions=["Check the backend's address: ctx config get url"],
    )


def _number(data: Mapping[str, object], key: str) -> int:
    value = data.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise bad_answer(f"{key} should be a number")
    return value


def _optional_number(data: Mapping[str, object], key: str) -> int | None:
    return None if data.get(key) is None else _number(data, key)


def _text(data: Mapping[str, object], key: str) -> str | None:
    value = data.get(key)
    if value is not None and not isinstance(value, str):
        raise bad_answer(f"{key} should be a text")
    return value


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
