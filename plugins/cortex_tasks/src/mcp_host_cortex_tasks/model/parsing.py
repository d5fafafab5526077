"""Tasks, users and comments from a backend's JSON."""

from collections.abc import Mapping

from ..errors import UnavailableError
from .task import Comment, Task, User


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
