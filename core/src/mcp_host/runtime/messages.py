"""What crosses the border between the host and a pack's side: finished, bounded, plain data.

The messages are the same whatever carries them: a queue between threads, or a pipe. Nothing in them
is an object of the pack, so that the host may look at any of it on its own loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic_core import from_json

from ..declarations.context import Caller
from ..packs.children.frames import BORDER
from ..packs.words import REASON_BYTES as REASON_BYTES
from ..startup.dataclass import dataclass

VERSION = BORDER
"""Of the messages; a side that speaks another version is refused."""

URI_BYTES = 4096
NOTICE_BYTES = URI_BYTES + 128
"""Of a notice to other processes: a URI, and whose it is."""
ENTRIES = 50
"""The most suggestions of an error that leave a pack's side."""

Kind = Literal["tool", "resource", "prompt", "method"]


_NOTHING: Mapping[str, Any] = {}


class CallMessage(NamedTuple):
    """A call, to a pack's side.

    `key` is what the pack's own catalog finds the contribution by, `target` what the client sent.
    `seconds` are left until the deadline. `answers` are a client's raw answers to questions, and
    `state` what it brought back with them; `is_live` says that it is asked while the call waits.
    `wants_progress` says that somebody hears how far the call is.
    """

    kind: Kind
    key: str
    target: str
    arguments: Mapping[str, Any]
    request_id: str
    caller: Caller
    seconds: float
    max_answer_bytes: int
    answers: Mapping[str, Any] = _NOTHING
    state: str | None = None
    is_live: bool = False
    wants_progress: bool = True


@dataclass(frozen=True, slots=True)
class ProposalsMessage:
    """A request for proposals for one argument, to a pack's side."""

    kind: Kind
    key: str
    argument: str
    value: str
    given: Mapping[str, str]
    limit: int


@dataclass(frozen=True, slots=True)
class Answered:
    """A call's result as the JSON of the protocol, written where the value was made.

    `is_wire` says that `body` is what the protocol's own models would make of it, and ends with its
    `_meta`, which is not empty.
    """

    body: bytes
    code: str = "ok"
    is_wire: bool = False

    @property
    def data(self) -> dict[str, Any]:
        """The result as plain data."""
        return from_json(self.body)  # type: ignore[no-any-return]  # the writer wrote an object


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions that must be answered before the call can run; `state` comes back with them.

    `withdrawn` is set once no answer is wanted any more; None where that never happens. The call
    then comes again without answers.
    """

    questions: Mapping[str, Mapping[str, Any]]
    state: str
    withdrawn: asyncio.Event | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Failed:
    """A call that failed: what the client is told, and what is for the log alone.

    `details` are JSON data; `retryable` is None where the code alone decides. `began` says that the
    pack's function was called, and `sent` what the exception says of whether it then did anything.
    """

    code: str
    message: str
    suggestions: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    retryable: bool | None = None
    traceback: str = ""
    sent: bool | None = None
    began: bool = False


@dataclass(frozen=True, slots=True)
class CannotAsk:
    """A call needs to ask what this client cannot be asked."""

    capability: str


@dataclass(frozen=True, slots=True)
class Proposed:
    """Proposals for an argument: those that fit, and how many there are in all."""

    values: tuple[str, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a pack could not be opened or was lost; `expected` where the pack has declared it.

    `code` is that of the pack's state, where what happened has one of its own.
    """

    reason: str
    remedy: str = ""
    expected: bool = False
    traceback: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What one of a pack's own checks found wrong; or merely notes, where it `is_note`."""

    problem: str
    remedy: str = ""
    is_note: bool = False


@dataclass(frozen=True, slots=True)
class Offered:
    """Something that a pack offers from now on; `data` is that of `told.tell_one`.

    `key` finds it on the pack's side. `whose` is the identity of the one caller who sees it, None
    where everybody does.
    """

    key: str
    whose: str | None
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Something that a pack offers no more: its own name, or a resource's URI.

    `kind` says of what kind it was, where it was declared.
    """

    name: str
    whose: str | None
    kind: str = ""


ListChange: TypeAlias = Offered | Withdrawn
"""What changes in a pack's lists while it serves."""

Reply: TypeAlias = Answered | Asked | Failed | CannotAsk
