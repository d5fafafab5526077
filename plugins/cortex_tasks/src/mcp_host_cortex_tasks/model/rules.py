"""What may be asked of a task, and the names of its branch: limits, choices and checks."""

import re
from datetime import date

from ..errors import InvalidError

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


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
