"""One call on its way through the middleware: the shapes that every middleware knows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from ..declarations.context import Context
from ..declarations.tool import Tool
from ..packs.entry import Entry
from ..runtime.alarms import Alarms, TimeLimit
from ..runtime.lifecycle import Lifecycle
from ..runtime.messages import Answered, Asked, Kind

AskLive: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Sends one question to a client that can be asked during a call, and brings its raw answer."""
AtOnce: TypeAlias = Callable[[Answered], bool]
"""Sends an answer to the client from the thread that made it; False where it must go by the host.

Whatever comes of the call later then changes nothing for the client. It raises nothing.
"""


@dataclass(frozen=True)
class Asking:
    """How the client of one call is asked, and what it has answered.

    `ask` asks it while the call waits. Without it the call ends with its questions, and `answers`
    and `state` are what the client brought when it called again.
    """

    answers: Mapping[str, Any] = field(default_factory=dict)
    state: str | None = None
    ask: AskLive | None = None


UNASKED = Asking()
"""Nothing was asked yet, and the client cannot be asked while the call waits."""


async def until_answered(
    call: Callable[[Asking], Awaitable[Answered]],
    answer: Callable[[str, Mapping[str, Any]], Mapping[str, Any]] | None,
) -> dict[str, Any]:
    """Make a call, and again with the answers to what it asks, until it has a result.

    `answer` gives the client's raw answer to one question, by its name; without it, questions are
    the result.
    """
    result = (await call(Asking())).data
    while answer is not None and result.get("resultType") == "input_required":
        answers = {name: answer(name, asked) for name, asked in result["inputRequests"].items()}
        result = (await call(Asking(answers, result["requestState"]))).data
    return result


class Movable(Protocol):
    """What a call knows of the handle that it may go on behind; on the host's loop.

    Behind it, the call may run for `limit` seconds from when it got there.
    """

    limit: float

    @property
    def is_moved(self) -> bool:
        """Whether the client has its handle."""

    def limited(self, alarms: Alarms, seconds: float) -> TimeLimit:
        """Make the block of the call's time: a handle is made when its own seconds have passed.

        Where there is none to be had, or the time behind it is over, the block ends.
        """

    def let_go(self) -> None:
        """Leave a call that has ended without a handle, so that no circle is left to collect."""


@dataclass
class Call:
    """A request for a tool, a resource or a prompt.

    `name` is what the client sent (for a resource, its URI); `entry` is None when nothing has that
    name. `used` are the seconds that the call has had already, before a person was asked. `began`
    turns true when its pack may have begun to do it, and `repeatable` is what the pack said of it
    then, where only a function of the arguments knows. `pack` is where it is made, once its pack is
    open. `at_once` is there while the answer of the pack's side is the client's as it is, and needs
    nothing to be done before; `is_answered` says that it was given so. `movable` is there where the
    call may go on behind a handle, and then `in_host` gives its place in the host back, while it
    has one. `waits_for` names the setting that the call waits its turn by, while it does.

    Invariants: past `names` there is an `entry`, past `opening` a `pack`. `at_once` is taken away
    and never given back. All changes on the host's loop but `is_answered`, which the thread sets
    that gives the answer.
    """

    kind: Kind
    name: str
    entry: Entry | None
    arguments: Mapping[str, Any]
    context: Context
    asking: Asking = UNASKED
    used: float = 0.0
    began: bool = False
    repeatable: bool = False
    pack: Lifecycle | None = None
    at_once: AtOnce | None = None
    movable: Movable | None = None
    in_host: Callable[[], None] | None = None
    is_answered: bool = False
    waits_for: str = field(default="", init=False)

    def answer_at_once(self, answered: Answered) -> bool:
        """Give the client the answer of the pack's side, in the thread that made it.

        False where the client has another by now: the handle of the call.
        """
        at_once = self.at_once
        self.is_answered = at_once is not None and at_once(answered)
        return self.is_answered

    def leave_host(self) -> None:
        """Give the place in the host back, where the call has one."""
        leave, self.in_host = self.in_host, None
        if leave is not None:
            leave()

    @property
    def known(self) -> Entry:
        """The entry that the call is for; `names` lets nothing else pass."""
        assert self.entry is not None
        return self.entry

    @property
    def place(self) -> Lifecycle:
        """Where the call is made; `opening` lets nothing else pass."""
        assert self.pack is not None
        return self.pack

    @property
    def may_be_repeated(self) -> bool:
        """Whether a second call does no harm, so that one which failed may be sent again."""
        contribution = self.entry.contribution if self.entry else None
        if self.repeatable or not isinstance(contribution, Tool):
            return True
        return contribution.is_repeatable(self.arguments)


Result: TypeAlias = Answered | Asked
"""How a call ends that does not raise."""
Next: TypeAlias = Callable[[Call], Awaitable[Result]]
Middleware: TypeAlias = Callable[[Call, Next], Awaitable[Result]]
