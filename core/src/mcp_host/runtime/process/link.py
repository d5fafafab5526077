"""The host's end of a child's socket."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol, cast

from ...packs.children.child import Child
from ...packs.children.frames import FrameError, frame
from ...packs.children.hosted import HostedChild
from ..messages import Answered

TURN, REST = 0.005, 2.0
"""Seconds that the host's loop hears one child without a pause, and how much longer a pause is."""


class Hearer(Protocol):
    """Whoever hears what a child says."""

    def hear(
        self, message: Mapping[str, Any], body: bytes, answered: Answered | None = None
    ) -> None:
        """Take in a message; `KeyError`, `TypeError`, `ValueError` where it is none.

        `answered` is the answer that it is, where that was found out before.
        """

    def answered(self, message: Mapping[str, Any], body: bytes, is_next: bool) -> Answered:
        """Return the answer that a message is, in whatever thread; raises as `hear`.

        Where it `is_next`, with nothing before it unheard, it may be given to its client.
        """

    def unreadable(self, error: Exception) -> None:
        """Give up a child whose messages are none."""

    def disconnected(self) -> None:
        """Take in that the child has closed its end."""


class HostEnd(Protocol):
    """The host's end of a child's border; what it hears belongs to the host's loop."""

    async def connect(self) -> None:
        """Hear the child from now on."""

    def write(self, message: Mapping[str, Any]) -> None:
        """Send; silent where the child is gone, which is told in another way."""

    def close(self) -> None:
        """Close the host's end."""


def link_of(child: Child | HostedChild, hearer: Hearer) -> HostEnd:
    """Return the host's end of a child's border, wherever the child lives."""
    return HostedLink(child, hearer) if isinstance(child, HostedChild) else ChildLink(child, hearer)


class HostedLink:
    """The host's end where the side lives in threads of the host.

    An answer is looked at in the thread that brings it, and given to its client there where nothing
    else must be heard before; all else is heard on the loop, a portion in a turn. What is heard at
    the moment stands in `_waiting` still, so that no answer overtakes it.

    Invariants: only the loop takes from `_waiting`. While something is in it, `_is_woken` is true
    or about to be, and `_take` will run; `_take` alone makes it false, and then looks once more.
    """

    def __init__(self, child: HostedChild, hearer: Hearer) -> None:
        self._child = child
        self._hearer = hearer
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[Mapping[str, Any], bytes, Answered | None]] = deque()
        self._is_woken = False
        self._is_closed = False

    async def connect(self) -> None:
        """As `HostEnd.connect`."""
        self._child.unheard = self._waiting.__len__
        self._child.listen(self._said)

    def write(self, message: Mapping[str, Any]) -> None:
        """As `HostEnd.write`."""
        if not self._is_closed:
            self._child.send(message)

    def close(self) -> None:
        """As `HostEnd.close`."""
        self._is_closed = True

    def _said(self, message: Mapping[str, Any], body: bytes) -> None:
        """Take in what the side says, in a thread of it."""
        answered = None
        if "answered" in message and not self._is_closed:
            try:  # noqa: SIM105  # `suppress` takes longer than all else here
                answered = self._hearer.answered(message, body, not self._waiting)
            except (KeyError, TypeError, ValueError):
                pass  # it is found once more on the loop
        self._waiting.append((message, body, answered))
        if self._is_woken:
            return
        self._is_woken = True
        try:  # noqa: SIM105  # as above
            self._loop.call_soon_threadsafe(self._take)
        except RuntimeError:
            pass  # the loop has ended, and nobody hears any more

    def _take(self) -> None:
        waiting = self._waiting
        began = 0.0
        while waiting:
            try:
                if not self._is_closed:
                    self._hearer.hear(*waiting[0])
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                self._hearer.unreadable(error)
                self.close()
            waiting.popleft()
            if not waiting:
                self._is_woken = False  # first: what is said from here on wakes the loop again
            elif not began:
                began = time.monotonic()
            elif (spent := time.monotonic() - began) > TURN:
                self._loop.call_later(REST * spent, self._take)
                return


class ChildLink(asyncio.Protocol):
    """The host's end of a child's socket, in the host's loop.

    A child that says more than the host can hear in its turn waits: it is read no further until
    the loop has had time for others.
    """

    def __init__(self, child: Child, hearer: Hearer) -> None:
        self._child = child
        self._hearer = hearer
        self._transport: asyncio.Transport | None = None

    async def connect(self) -> None:
        """As `HostEnd.connect`."""
        self._child.socket.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: self, sock=self._child.socket)
        self.take()

    def write(self, message: Mapping[str, Any]) -> None:
        """As `HostEnd.write`."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(frame(message))

    def close(self) -> None:
        """As `HostEnd.close`."""
        if self._transport is not None:
            self._transport.abort()

    def take(self) -> None:
        """Have the messages heard that have come whole, as many as fit in a turn."""
        began = time.monotonic()
        try:
            while (one := self._child.frames.next()) is not None:
                self._hearer.hear(*one)
                spent = time.monotonic() - began
                if spent > TURN:
                    self._rest(REST * spent)
                    return
        except (FrameError, KeyError, TypeError, ValueError, AttributeError) as error:
            self._hearer.unreadable(error)
            self.close()

    def _rest(self, seconds: float) -> None:
        if self._transport is not None:
            self._transport.pause_reading()
            asyncio.get_running_loop().call_later(seconds, self._go_on)

    def _go_on(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
            self.take()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's has no such base

    def data_received(self, data: bytes) -> None:
        self._child.frames.feed(data)
        self.take()

    def connection_lost(self, exc: Exception | None) -> None:
        self._hearer.disconnected()
