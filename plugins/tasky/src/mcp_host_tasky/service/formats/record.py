"""A task as other tools tell of it, in words that all formats share."""

import json
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol
from urllib.parse import parse_qs, urlencode

from ...errors import InvalidError
from ...model import LIMITS, Note, Status
from ...model.dates import micros

OWN = "tasky:"
_MARK = re.compile(rf"\s*<!-- {OWN}([0-9a-f-]{{36}}(?:\?\S*)?) -->")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A task of another tool. `id` names it there, and so do `blockers`, `parent` and
    `discovered_from` other tasks; `rest` is what has no field here, as the other tool says it;
    `task_id` is our own id, where the other tool kept it for us.

    Invariants: it never changes. `id`, `blockers`, `parent` and `discovered_from` are ids of the
    other tool, `task_id` alone is one of ours.
    """

    id: str
    name: str
    details: str = ""
    status: Status = Status.PENDING
    priority: int | None = None
    due_date: str | None = None
    tags: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    parent: str | None = None
    discovered_from: str | None = None
    done_when: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    created_at: str | None = None
    updated_at: str | None = None
    rest: Mapping[str, Any] = field(default_factory=dict)
    task_id: str | None = None
    priorities: frozenset[int] = frozenset()
    """Our priorities that the other tool has one word for."""
    statuses: frozenset[Status] = frozenset()
    """Our statuses that the other tool has one word for."""
    fields: frozenset[str] | None = None
    """The fields that the other tool has; what it has no field for is not changed by it."""
    place: str = ""
    """The list that it stands in, where that is part of its id."""


class Format(Protocol):
    """A format that plans are read from and written to."""

    name: str

    def read(self, files: Mapping[str, str]) -> list[Record]:
        """Return the tasks of files, by their paths; `InvalidError` says what is wrong."""

    def write(self, records: Sequence[Record]) -> dict[str, str]:
        """Return files by their paths; one file alone has an empty path."""

    def new_id(self, number: int, task_id: str) -> str:
        """Return the id for a task that did not come from there; `number` counts them, from 1
        past the greatest number that ids there have."""


_SPACE = uuid.UUID("6f3d2c1e-5f0b-5a57-9d0e-7a1f1b0c4a11")


def id_of(form: str, said: str) -> str:
    """Return our id of a task that follows from its id in another tool."""
    if form in ("csv", "markdown", "github"):
        with suppress(ValueError):
            return str(uuid.UUID(said))
    return str(uuid.uuid5(_SPACE, f"{form}:{said}"))


def told_apart(records: Sequence[Record]) -> list[Record]:
    """Give tasks that share an id there, as some files have them, ids of their own."""
    seen: Counter[str] = Counter()
    return [replace(record, id=told(record.id, seen)) for record in records]


def told(said: str, seen: Counter[str]) -> str:
    """Return an id, with a number where it was seen before."""
    seen[said] += 1
    other = said if seen[said] == 1 else f"{said} ({seen[said]})"
    if other == said:
        return said
    return told(said, seen) if seen[other] else told(other, seen)


def wrong(file: str, why: str) -> InvalidError:
    return InvalidError(f"{file} {why}.", reason="bad_file")


def json_of(text: str, file: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise wrong(file, f"is not JSON: {error}") from error


def documents(content: str, file: str) -> list[Any]:
    """Return the JSON documents of a file that holds one after the other, as pages of an API do."""
    decoder = json.JSONDecoder()
    found, start = [], 0
    content = content.rstrip()
    while start < len(content):
        try:
            document, start = decoder.raw_decode(content, start)
        except (ValueError, RecursionError) as error:
            raise wrong(file, f"is not JSON: {error}") from error
        found.append(document)
        while start < len(content) and content[start].isspace():
            start += 1
    return found


def moment(said: str | None) -> str | None:
    """Return a time of another tool as ours are written, or None where it is not ISO 8601."""
    if not said:
        return None
    try:
        at = datetime.fromisoformat(said.strip())
    except ValueError:
        return None
    return micros(at if at.tzinfo else at.replace(tzinfo=UTC))


def fitting_tags(tags: Iterable[str]) -> list[str]:
    """Return labels as a task has them here: small letters, none twice, and not too many."""
    found = dict.fromkeys(" ".join(tag.lower().split())[: LIMITS.tag].strip() for tag in tags)
    return [tag for tag in found if tag][: LIMITS.tags]


def has_labels(tags: Sequence[str], labels: Iterable[str]) -> bool:
    """Tell whether these tags are what these labels became here."""
    return sorted(fitting_tags(labels)) == sorted(tags)


def pieces(said: str) -> list[str]:
    """Return a comment as notes of a task: one that is too long for a note is several."""
    plain = said.replace("\0", "").strip()
    return [plain[start : start + LIMITS.note] for start in range(0, len(plain), LIMITS.note)]


def texts(value: object) -> tuple[str, ...]:
    """Return a list's members as texts; a single text is a list of one."""
    if value in (None, ""):
        return ()
    if isinstance(value, str | int | float):
        return (str(value),)
    return tuple(str(one) for one in value) if isinstance(value, Iterable) else ()


def text(value: object) -> str:
    return "" if value is None else str(value)


def kept(ours: Any, theirs: Any, meaning: Callable[[Any], Any], word: Callable[[Any], Any]) -> Any:
    """Return the other tool's own word where it still means what we say, else a word for it."""
    return theirs if theirs is not None and meaning(theirs) == ours else word(ours)


def composed(first: str, sections: Iterable[tuple[str, str]]) -> str:
    """Return a text with a heading before each further section; empty ones are left out."""
    parts = [first.strip("\n")]
    parts += [f"## {title}\n\n{body.strip(chr(10))}" for title, body in sections if body.strip()]
    return "\n\n".join(part for part in parts if part)


def parted(whole: str, titles: Iterable[str]) -> tuple[str, dict[str, str]]:
    """Take apart what `composed` put together."""
    pattern = "|".join(re.escape(title) for title in titles)
    pieces = re.split(rf"(?m)^## ({pattern})\n\n", whole)
    found = {
        title: body.strip("\n") for title, body in zip(pieces[1::2], pieces[2::2], strict=True)
    }
    return pieces[0].strip("\n"), found


def as_said(
    data: Mapping[str, Any], first: str, sections: Mapping[str, str]
) -> tuple[str, dict[str, Any]]:
    """Return the details of a task whose text the other tool keeps in several fields, and what to
    keep so that the fields can be had again: those without a text that are there, and all texts
    where they hold our headings or begin or end with empty lines."""
    said = {name: text(data.get(name)) for name in (first, *sections.values())}
    whole = composed(said[first], [(title, said[name]) for title, name in sections.items()])
    start, found = parted(whole, sections)
    again = {first: start} | {name: found.get(title, "") for title, name in sections.items()}
    empty = {name: data[name] for name in said if name in data and not said[name]}
    return whole, {"_empty": empty} | ({} if again == said else {"_texts": said})


def fields_of(record: Record, first: str, sections: Mapping[str, str]) -> dict[str, str]:
    """Return the fields that `as_said` made the details of; they are as they were where the
    details are."""
    said = record.rest.get("_texts")
    empty: dict[str, Any] = record.rest.get("_empty", {})
    if said:
        was = [(title, text(said.get(name))) for title, name in sections.items()]
        if composed(text(said.get(first)), was) == record.details:
            return empty | {name: one for name, one in said.items() if one}
    start, found = parted(record.details, sections)
    fields = {first: start} | {sections[title]: body for title, body in found.items()}
    if "_empty" in record.rest:
        return empty | {name: one for name, one in fields.items() if one}
    return fields


def comments_of(
    notes: Sequence[Note],
    was: Iterable[Mapping[str, Any]],
    said: str,
    made: Callable[[int, Note], dict[str, Any]],
) -> list[dict[str, Any]]:
    """Return notes as the other tool's comments: first those that came from there, as they were
    with all that stands beside the text in the field `said` (notes stay, so none is gone), then the
    others, counted on from there."""
    found = [dict(one) for one in was]
    known = Counter(piece for one in found for piece in pieces(text(one.get(said))))
    for note in notes:
        if known[note.text]:
            known[note.text] -= 1
        else:
            found.append(made(len(found) + 1, note))
    return found


LOW, MEDIUM, HIGH = frozenset({1, 2}), frozenset({3}), frozenset({4, 5})


def marked(line: str, record: Record) -> str:
    """Return a text with our id in a comment, for tools that have no other place for it."""
    return f"{line} <!-- {OWN}{record.task_id} -->"


def unmarked(line: str) -> tuple[str, str | None]:
    """Return a text without our id, and the id."""
    found = _MARK.search(line)
    return (_MARK.sub("", line), found[1].partition("?")[0]) if found else (line, None)


def referred_in(text: str) -> str:
    """Return the reference to a task of ours that a comment in a text holds."""
    found = _MARK.search(text)
    return f"{OWN}{found[1]}" if found else ""


def reference(record: Record, names: Iterable[str]) -> str:
    """Return a reference to a task: our id, and behind it, as in an address, those of its fields
    that the other tool has no place for, where they say something."""
    said = {name: value for name in names if (value := getattr(record, name))}
    query = urlencode(said, doseq=True).replace("--", "%2D%2D")
    return f"{OWN}{record.task_id}" + (f"?{query}" if query else "")


def referred(said: str) -> tuple[str | None, dict[str, list[str]]]:
    """Return our id, and the fields, that a reference to a task holds; no id where it is none."""
    if not said.startswith(OWN):
        return None, {}
    own, _, query = said.removeprefix(OWN).partition("?")
    return own, parse_qs(query)


def first(said: Mapping[str, list[str]], name: str) -> str | None:
    return said[name][0] if name in said else None


def exact(record: Record, words: Mapping[int, str]) -> set[str]:
    """Return the names of fields that a tool which has a word for several values does not tell."""
    is_shared = [*words.values()].count(words[record.priority or 3]) > 1
    is_other = record.priority in (1, 5)
    return {"priority"} if is_shared and is_other else set()


def level_of(
    said: Mapping[str, list[str]], word: str, words: Mapping[int, str], levels: Mapping[str, int]
) -> tuple[int | None, bool]:
    """Return the priority that a word means, or the very one that a reference says, where the word
    is still the one for it; and whether it is the very one."""
    very = first(said, "priority")
    if very is not None and very.isdecimal() and words.get(int(very)) == word:
        return int(very), True
    return levels.get(word), False


def single(files: Mapping[str, str]) -> tuple[str, str]:
    """Return the one file's path and text."""
    if len(files) != 1:
        raise InvalidError("There must be one file.", reason="bad_file")
    ((path, content),) = files.items()
    return path, content
