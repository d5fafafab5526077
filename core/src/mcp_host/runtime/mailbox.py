"""What a pack says outside its answers: merged and bounded on its side, taken on the host's loop.

A pack may say things a hundred thousand times a second, in any thread. The host is woken once for
many of them, and not again before `PAUSE` has passed.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

from ..declarations.context import ClientChannel, Level
from ..packs.conditions import Condition
from ..startup.dataclass import dataclass
from .bounds import text
from .messages import NOTICE_BYTES, URI_BYTES, ListChange

PAUSE = 0.01
"""Seconds between two looks into one mailbox."""
CHANGED = 1000
"""The most URIs that wait in one mailbox, and the most notices of other processes; of more, the
newest are dropped and counted."""
RING = 4096
"""The most progress and log messages of one call that wait; of more, the oldest are dropped."""
MERGED = 1000
"""How often a pack may say what merges with what waits, before it must pause each time."""
BREATH = 0.001
"""Seconds that a thread of a pack pauses when it says more than is taken."""
PORTION = 64
"""The most messages of one call that are taken at once; the loop has other things to do between."""

Redact: TypeAlias = Callable[[Any], Any]
"""Masks the secrets in plain data."""


@dataclass(frozen=True, slots=True)
class ProgressMessage:
    """How far a call is."""

    done: float
    total: float | None
    message: str | None

    def to(self, channel: ClientChannel) -> None:
        channel.progress(self.done, self.total, self.message)

    def masked(self, redact: Redact) -> ProgressMessage:
        return replace(self, message=redact(self.message)) if self.message else self


@dataclass(frozen=True, slots=True)
class LogMessage:
    """A log message of a call to its client; `data` is JSON data."""

    level: Level
    data: object
    logger: str | None

    def to(self, channel: ClientChannel) -> None:
        channel.log(self.level, self.data, self.logger)

    def masked(self, redact: Redact) -> LogMessage:
        return replace(self, data=redact(self.data))


@dataclass(frozen=True, slots=True)
class NotificationMessage:
    """A notification of a protocol extension to a call's client; `params` are JSON data."""

    method: str
    params: Mapping[str, Any]

    def to(self, channel: ClientChannel) -> None:
        channel.notify(self.method, self.params)

    def masked(self, redact: Redact) -> NotificationMessage:
        return replace(self, params=redact(self.params))


@dataclass(frozen=True, slots=True)
class CloseStream:
    """A call lets its client come back later for the rest."""

    def to(self, channel: ClientChannel) -> None:
        channel.close_stream()

    def masked(self, redact: Redact) -> CloseStream:
        return self


@dataclass(frozen=True, slots=True)
class Repeatable:
    """Whether a call that is about to begin may be repeated; for the host alone."""

    is_so: bool

    def to(self, channel: ClientChannel) -> None:
        """Nothing of it is for the client."""

    def masked(self, redact: Redact) -> Repeatable:
        return self


Said = ProgressMessage | LogMessage | NotificationMessage | CloseStream | Repeatable


class PackListener(Protocol):
    """Hears what a pack says; every method is called on the host's loop."""

    def changed(self, uri: str) -> None: ...
    def lists_changed(self) -> None: ...
    def heard(self, notice: str) -> None: ...
    def list_changes(self, changes: Sequence[ListChange]) -> None: ...
    def reported(self, condition: Condition | None) -> None: ...
    def dropped(self, count: int) -> None: ...


class Mailbox:
    """One pack's mailbox. The methods that put something in may be called in any thread.

    Nothing is taken out while `may_take` says no, but before an answer. `is_watched` says in any
    thread whether somebody is to hear of a resource that changed before the answer that follows,
    and `is_heard` whether anybody is to hear of it: what nobody hears is not put in.

    Invariants: what waits changes under `_lock`, and is taken out as a whole, on the loop. Unless
    `_is_woken`, nothing waits. `_is_awaited` says that something waits which comes before answers,
    and `_is_hearing` that it is being heard. `_changed` and `_heard` have `CHANGED` at most, and
    `_dropped` counts what was too much.
    """

    def __init__(
        self,
        listener: PackListener,
        loop: asyncio.AbstractEventLoop,
        may_take: Callable[[], bool] = lambda: True,
        is_watched: Callable[[str], bool] = lambda uri: True,
        is_heard: Callable[[str], bool] = lambda uri: True,
    ) -> None:
        self._may_take = may_take
        self._is_watched = is_watched
        self._is_heard = is_heard
        self._listener = listener
        self._loop = loop
        self._lock = threading.Lock()
        self._changed: dict[str, None] = {}
        self._heard: dict[str, None] = {}
        self._dropped = 0
        self._merged = 0
        self._lists_changed = False
        self._list_changes: list[ListChange] = []
        self._report: tuple[Condition | None] | None = None
        self._calls: dict[CallMailbox, None] = {}
        self._is_woken = False
        self._is_awaited = False
        self._is_hearing = False

    def changed(self, uri: str) -> None:
        """Put in that a resource changed."""
        uri = text(uri, URI_BYTES)
        if not self._is_heard(uri):
            return
        is_watched = self._is_watched(uri)
        with self._lock:
            self._put(self._changed, uri, is_awaited=is_watched)
        self._breathe()

    def heard(self, notice: str) -> None:
        """Put in what the pack's bus has heard from another process."""
        with self._lock:
            self._put(self._heard, text(notice, NOTICE_BYTES), is_awaited=True)
        self._breathe()

    def _put(self, waiting: dict[str, None], one: str, *, is_awaited: bool) -> None:
        """Have one more wait; the caller holds the lock."""
        if one in waiting:
            self._merged += 1
            self._is_awaited |= is_awaited
        elif len(waiting) >= CHANGED:
            self._dropped += 1
            self._merged += 1
        else:
            waiting[one] = None
            self._wake(is_awaited=is_awaited)

    def lists_changed(self) -> None:
        """Put in that the lists changed."""
        with self._lock:
            self._lists_changed = True
            self._merged += 1
            self._wake()
        self._breathe()

    def list_change(self, change: ListChange) -> None:
        """Put in that something is offered or withdrawn; every change is taken, in this order."""
        with self._lock:
            self._list_changes.append(change)
            waiting = len(self._list_changes)
            self._wake()
        if waiting > MERGED:
            time.sleep(BREATH)

    def report(self, condition: Condition | None) -> None:
        """Put in what the pack says of itself; the latest counts."""
        with self._lock:
            self._report = (condition,)
            self._merged += 1
            self._wake()
        self._breathe()

    def call(self, hear: Callable[[Said], None]) -> CallMailbox:
        """Make the mailbox of one call; `hear` is called on the host's loop."""
        return CallMailbox(self, hear)

    def look(self) -> None:
        """Take out all that is in it, and look again after a pause; on the host's loop."""
        if not self._may_take() or self.empty():
            self._loop.call_later(PAUSE, self.look)

    def empty(self) -> bool:
        """Take out all that is in it, on the host's loop; return whether there was anything."""
        if not self._is_woken:
            return False
        with self._lock:
            changed, self._changed = self._changed, {}
            heard, self._heard = self._heard, {}
            dropped, self._dropped = self._dropped, 0
            self._merged = 0
            lists, self._lists_changed = self._lists_changed, False
            changes, self._list_changes = self._list_changes, []
            report, self._report = self._report, None
            calls, self._calls = self._calls, {}
            was_hearing = self._is_hearing  # where a listener has it emptied
            self._is_awaited, self._is_hearing = False, was_hearing or self._is_awaited
            if not (changed or heard or lists or changes or report or calls):
                self._is_woken = False
                return False
        if report is not None:
            self._listener.reported(report[0])
        for uri in changed:
            self._listener.changed(uri)
        for notice in heard:
            self._listener.heard(notice)
        if dropped:
            self._listener.dropped(dropped)
        if changes:
            self._listener.list_changes(changes)
        if lists:
            self._listener.lists_changed()
        for call in calls:
            call.take()
        self._is_hearing = was_hearing
        return True

    def has_said(self, call: CallMailbox) -> None:
        """Note that a call has something to say; the caller holds the lock of `guard`."""
        self._calls[call] = None
        self._wake()

    @property
    def is_quiet(self) -> bool:
        """Whether all that was put in and comes before answers has been heard."""
        return not (self._is_awaited or self._is_hearing)

    @property
    def guard(self) -> threading.Lock:
        """The lock that every mailbox of a call shares with its pack's."""
        return self._lock

    def _breathe(self) -> None:
        """Have a thread that says more than is taken pause, so that others come to run."""
        if self._merged > MERGED:
            time.sleep(BREATH)

    def _wake(self, *, is_awaited: bool = True) -> None:
        self._is_awaited |= is_awaited
        if not self._is_woken:
            self._is_woken = True
            with suppress(RuntimeError):  # the host's loop has ended: nobody is left to hear it
                self._loop.call_soon_threadsafe(self.look)


class CallMailbox:
    """What one call says to its client while it runs; closed when the call is answered.

    The oldest messages make room for the newest; how many were dropped is said at the end.
    """

    def __init__(self, mailbox: Mailbox, hear: Callable[[Said], None]) -> None:
        self._mailbox = mailbox
        self._hear = hear
        self._ring: deque[Said] = deque()
        self._dropped = 0
        self._late = 0
        self._is_closed = False

    def say(self, said: Said) -> None:
        """Put a message in, from any thread; nothing where the call has been answered."""
        with self._mailbox.guard:
            if not self._is_closed:
                is_full = len(self._ring) >= RING
                if is_full:
                    self._ring.popleft()
                    self._dropped += 1
                self._ring.append(said)
                self._mailbox.has_said(self)
            else:
                self._late += 1
                is_full = self._late > MERGED
        if is_full:
            time.sleep(BREATH)

    def take(self) -> None:
        """Have a portion of the messages heard; on the host's loop."""
        with self._mailbox.guard:
            taken = [self._ring.popleft() for _ in range(min(PORTION, len(self._ring)))]
            if self._ring:
                self._mailbox.has_said(self)
        for said in taken:
            self._hear(said)

    def shut(self) -> bool:
        """Take nothing more, from any thread; return whether all that was said has been heard."""
        with self._mailbox.guard:
            self._is_closed = True
        return self._mailbox.is_quiet and not self._dropped

    async def drain(self) -> None:
        """Take nothing more, and have the rest heard, a portion at a time."""
        with self._mailbox.guard:
            self._is_closed = True
        while self._ring:
            self.take()
            await asyncio.sleep(0)

    def close(self) -> None:
        """Take nothing more; have a last portion heard, and how many messages were dropped."""
        if self.shut():
            return
        self.take()
        with self._mailbox.guard:
            dropped = self._dropped + len(self._ring)
            self._ring.clear()
        if dropped:
            self._hear(LogMessage("warning", f"{dropped} messages of this call were dropped", None))
