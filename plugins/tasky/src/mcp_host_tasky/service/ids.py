"""Ids as callers give them: whole, or a beginning that only one task has."""

import re
from collections.abc import Collection

from ..errors import InvalidError, NotFoundError
from ..model import LIMITS
from ..storage import Reading

_ID = re.compile("[0-9a-f-]{1,36}")
_LENGTH = 36
_SHOWN_CANDIDATES = 5


def is_whole(said: str) -> bool:
    """Whether what is said can only be the full id of a task, as stores have it."""
    return len(said) == _LENGTH and bool(_ID.fullmatch(said))


def resolve(reading: Reading, said: str, field: str = "task_id") -> str:
    """Return the full id that an id or its beginning means; a full id need not exist."""
    text = said.strip().lower()
    if len(text) == 32 and "-" not in text:
        text = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    if not _ID.fullmatch(text):
        raise InvalidError(
            f"{field} {said[:60]!r} is not an id.",
            reason="invalid_id",
            suggestions=["Use a task's id (a UUID) or a unique beginning of it."],
        )
    if len(text) == _LENGTH:
        return text
    found = reading.ids_from(text, _SHOWN_CANDIDATES + 1)
    if not found:
        raise unknown(said, field)
    if len(found) > 1:
        known = reading.tasks(found[:_SHOWN_CANDIDATES])
        raise InvalidError(
            f"{field} {said!r} fits more than one task.",
            reason="ambiguous_id",
            suggestions=[f"{task.task_id} {task.name}" for task in known.values()],
        )
    return found[0]


def resolve_past(reading: Reading, said: str) -> str:
    """Return the full id that an id or its beginning means, of a task that is there or was."""
    try:
        return resolve(reading, said)
    except NotFoundError:
        found = reading.past_ids_from(said.strip().lower(), 2)
        if len(found) != 1:
            raise
        return found[0]


def unknown(said: str, field: str = "task_id") -> NotFoundError:
    of = "" if field == "task_id" else f", which {field} names"
    return NotFoundError(
        f"There is no task {said!r}{of}.",
        reason="task_not_found",
        suggestions=["Search for the task; it may have been deleted."],
    )


def refuse_too_many(ids: Collection[str], name: str) -> None:
    if len(ids) > LIMITS.ids:
        raise InvalidError(
            f"{name} holds {len(ids):,} ids; at most {LIMITS.ids} are taken.",
            reason="too_many_ids",
            suggestions=[f"Ask for at most {LIMITS.ids} at a time."],
        )
