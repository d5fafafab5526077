"""The host's end of a child's socket."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Protocol, cast

from ...packs.children.child import Child
from ...packs.children.frames import FrameError

TURN, REST = 0.005, 2.0
"""Seconds that the host's loop hears one child without a pause, and how much longer a pause is."""


class Hearer(Protocol):
    """Whoever hears what a child says."""

    def hear(self, message: Mapping[str, Any], body: bytes) -> None:
        """Take in a message; `KeyError`, `TypeError`, `ValueError` where it is none."""

    def unreadable(self, error: Exception) -> None:
        """Give up a child whose messages are none."""

    def disconnected(self) -> None:
        """Take in that the child has closed its end."""


class ChildLink(asyncio.Protocol):
    """The host's end of a child's socket, in the host's loop.

    A child that says more than the host can hear in its turn waits: it is read no further until
    the loop has had time for others.
    """

    def __init__(self, child: Child, hearer: Hearer) -> None:
        self._child = child
        self._hearer = hearer
        self._transport: asyncio.Transport | None = None

    def write(self, data: bytes) -> None:
        """Send; silent where the child is gone, which is told in another way."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """Close the host's end."""
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
