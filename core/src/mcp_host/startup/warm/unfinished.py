"""What a conversation stands at, by what its journal says: what is open, and how it began."""

from __future__ import annotations

from ..frames import Splitter, TooLong
from ..json_text import loads
from ..protocol import is_id
from ..records import Record
from .journal import Journal, JournalWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..frames import Id
    from ..handover import Handover

KEPT = (
    "initialize",
    "notifications/initialized",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
)
"""Methods of the handshake era that say how a connection is to be served from then on."""
SKIPPED = b"\0"
"""What a line begins with in place of a beginning that nobody needs, since it is too long."""
_HINTS = (b'"initialize"', b"notifications/initialized", b"logging/setLevel", b"subscribe")


class Unfinished(Record):
    """Where a conversation stands.

    `kept` are the lines that it goes on from, and `answered` the ids of those among them that have
    their answer. `waiting` are all lines that have none yet; `open` are those of them that are not
    kept, each with its message, None where it is no message. `rest` is what came of the last line,
    and `asked` are the ids
    of what the client was asked and has not answered.
    """

    kept: tuple[bytes, ...] = ()
    answered: tuple[Id, ...] = ()
    waiting: tuple[bytes, ...] = ()
    open: tuple[tuple[bytes, Mapping[str, Any] | None], ...] = ()
    rest: bytes = b""
    asked: tuple[str | int, ...] = ()


def is_kept(line: bytes) -> bool:
    """Whether the conversation cannot be gone on with without a line."""
    if not any(hint in line for hint in _HINTS):
        return False
    message = _parsed(line)
    return message is not None and message.get("method") in KEPT


def begun(before: Handover) -> Journal:
    """A new journal that stands where a conversation stands."""
    journal = JournalWriter.new()
    lines = [line for line in before.lines if isinstance(line, bytes)]
    for line in lines:
        if is_kept(line):
            journal.keep(line)
    waiting = [line for line in lines if not _is_answered(line, before)]
    rest = before.splitter.unfinished if before.splitter is not None else b""
    journal.turn(b"".join(line + b"\n" for line in waiting) + rest)
    return journal


def _is_answered(line: bytes, before: Handover) -> bool:
    message = _parsed(line)
    if message is None or not is_id(message.get("id")):
        return False
    return _key(message["id"]) in before.answered


def unfinished(journal: Journal) -> Unfinished:
    """Read a journal, all of whose answers count as given."""
    *lines, rest = journal.came.split(b"\n")
    requests: dict[Id, list[bytes]] = {}
    broken: list[bytes] = []
    asked: dict[str | int, None] = {}
    replies: list[Mapping[str, Any]] = []
    for frame in journal.told.split(b"\n"):
        message = _parsed(frame)
        if message is None:
            continue
        if "method" not in message:
            replies.append(message)
        elif is_id(message.get("id")):
            asked[message["id"]] = None
    parsed = [(line, _parsed(line)) for line in lines if line.strip() and line[:1] != SKIPPED]
    for line, message in parsed:
        if message is None or ("method" in message and not _has_good_id(message)):
            broken.append(line)
        elif "method" not in message:
            if is_id(message.get("id")):
                asked.pop(message["id"], None)
        elif "id" in message:
            requests.setdefault(_key(message["id"]), []).append(line)
        elif message["method"] == "notifications/cancelled":
            _cancel(message, requests)
    for reply in replies:
        if is_id(reply.get("id")):
            _drop(requests.get(_key(reply["id"])))
        else:
            _drop(broken)
    left = [id(line) for group in (*requests.values(), broken) for line in group]
    still = [(line, message) for line, message in parsed if id(line) in left]
    kept = [line for line in journal.kept.split(b"\n") if line]
    kept += [line for line, _ in parsed if is_kept(line) and line not in kept]
    unanswered = tuple(line for line, _ in still)
    known = [(line, _parsed(line)) for line in kept]
    return Unfinished(
        kept=tuple(kept),
        answered=tuple(
            _key(message["id"])
            for line, message in known
            if message is not None and is_id(message.get("id")) and line not in unanswered
        ),
        waiting=unanswered,
        open=tuple(pair for pair in still if pair[0] not in kept),
        rest=rest,
        asked=tuple(asked),
    )


def _cancel(message: Mapping[str, Any], requests: Mapping[Id, list[bytes]]) -> None:
    params = message.get("params")
    cancelled = params.get("requestId") if isinstance(params, dict) else None
    if is_id(cancelled):
        _drop(requests.get(_key(cancelled)))


def _drop(lines: list[bytes] | None) -> None:
    if lines:
        del lines[0]


def _key(request_id: str | int) -> Id:
    return (type(request_id), request_id)


def _has_good_id(message: Mapping[str, Any]) -> bool:
    return "id" not in message or is_id(message["id"])


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        message = loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def splitter(rest: bytes, limit: int) -> Splitter:
    """A splitter that has read the beginning of a line."""
    made = Splitter(limit)
    lines = made.feed(rest)
    assert not [line for line in lines if not isinstance(line, TooLong)]
    return made
