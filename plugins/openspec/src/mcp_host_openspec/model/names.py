"""Names of changes and capabilities, and what may not be one."""

import sys
from collections import Counter
from typing import Final

from ..errors import InvalidNameError

_LONGEST: Final = 255
_LEAST_EDITS: Final = 2
_LETTERS_PER_EDIT: Final = 4
_SHORTEST_PART: Final = 3
_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)}
)


def check_change_id(change_id: str) -> str:
    """Return the id of a change, or raise InvalidNameError saying what is wrong with it."""
    if change_id == "archive":
        raise InvalidNameError(
            "change id", change_id, "must not be 'archive': that folder keeps the archived changes"
        )
    _check_segment("change id", change_id, change_id)
    return change_id


def check_capability(capability: str) -> str:
    """Return the path of a capability (`auth` or `area/auth`), or raise InvalidNameError."""
    for segment in capability.split("/"):
        _check_segment("capability", capability, segment)
    return capability


def _check_segment(kind: str, whole: str, segment: str) -> None:
    if problem := _problem(segment):
        raise InvalidNameError(kind, whole, problem)


def _problem(segment: str) -> str | None:
    if not segment:
        return "must not be empty, begin or end with '/', or hold '//'"
    if segment in (".", ".."):
        return f"must not hold the folder '{segment}'"
    if "/" in segment or "\\" in segment:
        return "must not contain path separators"
    if any(character < " " or character == "\x7f" for character in segment):
        return "must not contain control characters"
    if any("\ud800" <= character <= "\udfff" for character in segment):
        return "must be valid Unicode"
    if len(segment.encode()) > _LONGEST:
        return f"must not be longer than {_LONGEST} bytes"
    if sys.platform == "win32" and segment.split(".")[0].lower() in _DEVICES:
        return f"must not be '{segment}': Windows keeps that name for a device"
    return None


def nearest(name: str, candidates: list[str], most: int = 5) -> list[str]:
    """The candidates that a person may have meant by a name, nearest first; none where none is.

    Near is what holds the name or is held by it, and what few single-letter edits make of it.
    """
    typed = name.lower()
    limit = max(_LEAST_EDITS, len(typed) // _LETTERS_PER_EDIT)
    letters = sorted(Counter(typed).items())
    scored = []
    for candidate in candidates:
        other = candidate.lower()
        if typed and (typed in other or (len(other) >= _SHORTEST_PART and other in typed)):
            scored.append((abs(len(other) - len(typed)) / 100, candidate))
        elif (
            abs(len(other) - len(typed)) <= limit
            and not _lacks(other, letters, limit)
            and (edits := _distance(typed, other, limit)) <= limit
        ):
            scored.append((float(edits), candidate))
    return [candidate for _, candidate in sorted(scored)[:most]]


def _lacks(text: str, letters: list[tuple[str, int]], limit: int) -> bool:
    """Whether a text lacks more letters than so many edits could bring."""
    lacking = 0
    for letter, count in letters:
        there = text.count(letter)
        if there < count:
            lacking += count - there
            if lacking > limit:
                return True
    return False


def _distance(left: str, right: str, limit: int) -> int:
    """How many single-letter edits lie between two names, or more than the limit.

    Only cells near the diagonal are worked out: those further off cost more than the limit.
    """
    far = limit + 1
    row = [j if j <= limit else far for j in range(len(right) + 1)]
    for i, a in enumerate(left, 1):
        low, high = max(1, i - limit), min(len(right), i + limit)
        previous, row[0] = row[0], i
        if low > 1:
            previous, row[low - 1] = row[low - 1], far
        best = row[low - 1]
        for j in range(low, high + 1):
            cost = previous + (a != right[j - 1])
            previous = row[j]
            row[j] = min(row[j - 1] + 1, previous + 1, cost)
            best = min(best, row[j])
        if best > limit:
            return far
    return row[-1]
