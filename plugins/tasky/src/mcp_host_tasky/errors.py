"""What can go wrong with a plan, in one tree; `code` is the host's word, `reason` is ours.

TaskyError
├── InvalidError           validation_error    the input itself is wrong
├── NotFoundError          not_found           what was named is not in the plan
├── ConflictError          conflict            the plan as it stands does not allow it
│   └── MovedError                             the plan is kept elsewhere by now
├── PermissionDeniedError  permission_denied   the caller speaks for somebody else
├── BusyError              busy                somebody else holds the store
├── UnavailableError       unavailable         there is no plan to work on
└── StoppedError           timeout             the caller gave up before anything was kept
"""

import json
from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeAlias

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None


class TaskyError(Exception):
    """A refusal that changed nothing. `suggestions` help, `details["reason"]` is stable;
    `retryable` says that the same call may succeed later, without anybody mending anything; None
    leaves it to whoever knows the call. `sent` is true where a write was sent whose end is not
    known."""

    code: ClassVar[str] = "internal_error"
    retryable: ClassVar[bool | None] = False
    sent: bool = False

    def __init__(
        self,
        message: str,
        *,
        reason: str,
        suggestions: Sequence[str] = (),
        details: Mapping[str, Json] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.suggestions = list(suggestions)
        self.details: dict[str, Json] = {"reason": reason, **(details or {})}


class InvalidError(TaskyError):
    """The input itself is wrong, whatever the plan holds."""

    code = "validation_error"


class NotFoundError(TaskyError):
    """What was named is not in the plan."""

    code = "not_found"


class ConflictError(TaskyError):
    """The input is well formed, but the plan as it stands does not allow it."""

    code = "conflict"


class MovedError(ConflictError):
    """The plan was moved to another store while a call waited for this one."""

    retryable = True

    def __init__(self) -> None:
        super().__init__(
            "The plan was moved to another store meanwhile; nothing was changed.",
            reason="plan_moved",
            suggestions=["Do it again: it is done where the plan is kept now."],
        )


class PermissionDeniedError(TaskyError):
    """The caller may not speak for somebody else."""

    code = "permission_denied"


class BusyError(TaskyError):
    """Somebody else holds the store for too long; the same call may work later."""

    code = "busy"
    retryable = True


class UnavailableError(TaskyError):
    """There is no plan to work on: not set up, or unreadable; somebody must mend that first."""

    code = "unavailable"


class UnreachableError(UnavailableError):
    """The plan's database cannot be reached now; `sent` where it was asked to keep something."""

    retryable = None

    def __init__(self, *, sent: bool) -> None:
        super().__init__(
            "The plan's PostgreSQL database cannot be reached.",
            reason="database_unreachable",
            suggestions=["Check that it runs and that the URL is right, then try again."],
        )
        self.sent = sent


class StoppedError(TaskyError):
    """The caller gave up or ran out of time before anything was kept."""

    code = "timeout"
    retryable = True


_SHOWN = 20
_FIRST, _OTHERS = 4_000, 10_000
"""Characters of JSON for the first item of an error, and for the others."""
_LENGTHS = (2_000, 500, 200, 80)
"""How long a text of an item may be: the first of these with which all fit."""
_SHORT = 16
"""How many characters of that make room for one more member of a list."""
_BY_CODE: dict[str, type[TaskyError]] = {
    kind.code: kind for kind in (NotFoundError, ConflictError, PermissionDeniedError, InvalidError)
}


def failed_items(
    failures: Mapping[int, TaskyError], total: int, noun: str, after: str = " Nothing was changed."
) -> TaskyError:
    """One error for a bulk call: how many items failed, and the first of them by their index,
    counted from 0, with what is wrong; of a single item only that. What names and values make too
    long for a reader is cut."""
    items: list[Json] = []
    for index, failure in sorted(failures.items())[:_SHOWN]:
        item: dict[str, Json] = {
            "index": index,
            "code": failure.code,
            "reason": failure.reason,
            "error": failure.message,
        }
        if failure.suggestions:
            item["suggestions"] = failure.suggestions
        facts = {key: value for key, value in failure.details.items() if key != "reason"}
        if facts:
            item["details"] = facts
        items.append(item)
    told = [*_fitted(items[:1], _FIRST), *_fitted(items[1:], _OTHERS)]
    first_index = min(failures)
    first = failures[first_index]
    codes = {failure.code for failure in failures.values()}
    reasons = {failure.reason for failure in failures.values()}
    kind = _BY_CODE.get(first.code, InvalidError) if len(codes) == 1 else InvalidError
    count = "" if len(failures) == 1 else f"{len(failures)} of {total} {noun}s failed; "
    which = f"{count}{noun} {first_index}: " if total > 1 else ""
    return kind(
        f"{which}{first.message}{after}",
        reason=first.reason if len(reasons) == 1 else "items_failed",
        suggestions=first.suggestions,
        details={
            "items": told,
            **({"failed": len(failures)} if len(failures) > 1 else {}),
        },
    )


def _fitted(items: Sequence[Json], room: int) -> Sequence[Json]:
    """Return the items with their texts and lists cut, so that all of them fit."""
    for most in _LENGTHS:
        cut = [_cut(item, most) for item in items]
        if len(json.dumps(cut, ensure_ascii=False)) <= room:
            break
    return cut


def _cut(value: Json, most: int) -> Json:
    if isinstance(value, str):
        if len(value) <= most:
            return value
        end = most // 3
        return f"{value[: most - end]}… [{len(value):,} characters] …{value[-end:]}"
    if isinstance(value, Mapping):
        return {key: _cut(one, most) for key, one in value.items()}
    if isinstance(value, Sequence):
        kept = [_cut(one, most) for one in value[: most // _SHORT]]
        return kept if len(kept) == len(value) else [*kept, f"… {len(value)} in all"]
    return value
