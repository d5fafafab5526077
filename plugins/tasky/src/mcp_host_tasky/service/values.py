"""One value that a client gives: in its final form, or a clear refusal."""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from ..errors import InvalidError
from ..model import LIMITS, Status

_SURROGATE = re.compile("[\ud800-\udfff]")  # half of a pair, which is no letter
_UNSEEN = ("Cc", "Cf", "Zs")
_VIEWS = ("full", "compact")
_LEASE_SECONDS = range(1, LIMITS.lease_seconds + 1)


def refuse_too_many_of(found: list[str], name: str, limit: int) -> tuple[str, ...]:
    """Return what a list comes to hold, unless that is more than it may hold."""
    if len(found) > limit:
        raise wrong(name, f"would hold {len(found):,} items", f"Use at most {limit:,}.")
    return tuple(found)


def status(value: object) -> Status:
    try:
        return Status(str(value))
    except ValueError:
        raise InvalidError(
            f"status {value!r} is not a status.",
            reason="invalid_status",
            suggestions=[f"Valid statuses: {', '.join(Status)}."],
        ) from None


def priority(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 5:
        right = "Use 1 to 5; 5 is the highest."
        if isinstance(value, str) and value in ("1", "2", "3", "4", "5"):
            right = f"Give the number without quotes: {value}."
        raise wrong("priority", f"{value!r} is not a priority", right)
    return value


def tags(value: object, name: str = "tags") -> tuple[str, ...]:
    """Return the tags in one spelling: trimmed, lower case, sorted, each once."""
    said = _list(value, name, LIMITS.tags)
    found = {" ".join(text(tag, name, LIMITS.tag).lower().split()) for tag in said}
    if "" in found:
        raise wrong(name, "hold an empty tag", "Leave it out.")
    return tuple(sorted(found))


def conditions(value: object) -> tuple[str, ...]:
    """Return the names of conditions, each once."""
    said = [text(one, "done_when", LIMITS.tag).strip() for one in _list(value, "done_when", 20)]
    if "" in said:
        raise wrong("done_when", "holds an empty name", "Leave it out.")
    if any(unicodedata.category(one) == "Cc" for one in "".join(said)):
        raise wrong("done_when", "holds a name of more than a line", "Use letters and digits.")
    return tuple(dict.fromkeys(said))


def sort(value: str | None, *, ready: bool) -> bool:
    """Return whether what unblocks most comes first; that is known of what is ready."""
    if value in (None, "priority"):
        return False
    if value != "unblocks":
        raise wrong("sort", f"must be priority or unblocks, not {value!r}", "Leave it out.")
    if not ready:
        raise wrong("sort", "unblocks needs ready", "Give ready: true as well.")
    return True


def shape(view: str | None) -> str:
    """Return how a write is answered."""
    if view not in (None, *_VIEWS):
        raise wrong("view", f"must be full or compact, not {view!r}", "Leave it out for either.")
    return view or "auto"


def key(value: str | None) -> str | None:
    if value is not None and not 1 <= len(value) <= LIMITS.key:
        raise wrong(
            "idempotency_key",
            f"has {len(value)} characters",
            f"Use 1 to {LIMITS.key} characters.",
        )
    return value


def task_name(value: object) -> str:
    name = " ".join(text(value, "name", LIMITS.name).split())
    if all(unicodedata.category(one) in _UNSEEN for one in name):
        raise wrong("name", "is blank", "Give the task a name.")
    return name


def text(value: object, name: str, limit: int) -> str:
    if not isinstance(value, str):
        raise wrong(name, f"{value!r} is not text", "Give a string.")
    if len(value) > limit:
        raise InvalidError(
            f"{name} has {len(value):,} characters.",
            reason="text_too_long",
            suggestions=[f"Use at most {limit:,} characters."],
        )
    if "\0" in value or (not value.isascii() and _SURROGATE.search(value)):
        raise wrong(name, "holds a character that is no text", "Leave NUL and surrogates out.")
    return value


def optional_text(given: Mapping[str, object], name: str, limit: int) -> str | None:
    """Return the text, or None where it is not given or blank."""
    return text(given.get(name, ""), name, limit).strip() or None


def ids(value: object, name: str) -> tuple[str, ...]:
    return tuple(
        text(said, name, LIMITS.name).strip() for said in _list(value, name, LIMITS.relations)
    )


def _list(value: object, name: str, limit: int) -> Sequence[object]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise wrong(name, f"{value!r} is not a list", f'Give an array, as {name}: ["…"].')
    if len(value) > limit:
        raise wrong(name, f"hold {len(value):,} items", f"Use at most {limit:,}.")
    return value


def whole_number(given: Mapping[str, object], name: str) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or value >= 2**63:
        raise wrong(name, f"{value!r} is not a number of this kind", "Give a whole number from 1.")
    return value


def lease(given: Mapping[str, object]) -> int | None:
    seconds = whole_number(given, "lease_seconds")
    if seconds is not None and seconds not in _LEASE_SECONDS:
        raise wrong("lease_seconds", f"{seconds} is too long", "Use 1 to 604800 (a week).")
    return seconds


def wrong(name: str, what: str, right: str) -> InvalidError:
    return InvalidError(f"{name} {what}.", reason=f"invalid_{name}", suggestions=[right])
