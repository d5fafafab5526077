"""Ids as callers give them: whole, or a beginning that only one task has."""

import re
from collections.abc import Collection, Iterable

from ..errors import InvalidError, NotFoundError
from ..model import LIMITS
from ..storage import Reading

_ID = re.compile("[0-9a-f-]{1,36}")
_LENGTH = 36
_SHOWN_CANDIDATES = 5


def whole_ids(reading: Reading, said: Iterable[str]) -> dict[str, str]:
    """Return the full ids that are meant, as far as there is no doubt, all asked for at once: a
    question for each takes longer. Of the others `resolve` says what is wrong."""
    texts = {one: text for one in said if (text := _as_id(one))}
    short = {text for text in texts.values() if len(text) < _LENGTH}
    found = reading.whole_ids(short) if short else {}
    found.update({text: text for text in texts.values() if len(text) == _LENGTH})
    return {one: found[text] for one, text in texts.items() if text in found}


def _as_id(said: str) -> str | None:
    """Return an id or the beginning of one as stores have it; None where it cannot be one."""
    text = said.strip().lower()
    if len(text) == 32 and "-" not in text:
        text = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    return text if _ID.fullmatch(text) else None


def resolve(reading: Reading, said: str, field: str = "task_id") -> str:
    """Return the full id that an id or its beginning means; a full id need not exist."""
    text = _as_id(said)
    if text is None:
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
