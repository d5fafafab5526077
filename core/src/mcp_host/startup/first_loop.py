"""The time before the SDK is there: first questions are answered, the others kept for later.

A plain loop over two descriptors, without asyncio, which would cost more than the answers.
"""

from __future__ import annotations

import os
import select

from .frames import Splitter
from .handover import Handover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .first_answers import FirstAnswers

FULL = 8 * 1024 * 1024
"""Bytes that are kept of a client, either way; then it is read no more until the SDK is there."""
HEAD_START = 20
"""Milliseconds of silence after which the rest is loaded, although nothing needs it yet."""


class FirstLoop:
    """Reads one client's lines and writes the first answers, until it is woken.

    `limit` is the longest line in bytes. `may_leave` says whether the process may end as soon as
    the client does, when nothing of it waits for an answer. `begin` has the rest loaded, which
    competes with the answers: it is called once, when a list has been answered, when something
    waits for the rest, or when the client says nothing for a moment. Once `stopping` is set,
    nothing more is read. `before` is what was begun by another process, and `answers` have seen.

    Invariants: `_out` are the bytes of answers that the client has not taken yet, in order. `_kept`
    counts the bytes of lines that were not answered here. `_ended` and `stopping` never change
    back.
    """

    def __init__(
        self,
        source: int,
        sink: int,
        limit: int,
        answers: FirstAnswers,
        may_leave: Callable[[], bool],
        begin: Callable[[], None],
        before: Handover | None = None,
    ) -> None:
        before = before or Handover()
        self._source = source
        self._sink = sink
        self._answers = answers
        self._splitter = before.splitter or Splitter(limit)
        self._may_leave = may_leave
        self._begin: Callable[[], None] | None = begin
        self._out = bytearray(before.unsent)
        self._kept = 0
        self._ended = before.ended
        self._answered = before.answered
        self._listed = before.listed
        self.stopping = before.stopping

    def run(self, wake: int) -> Handover | None:
        """Serve until `wake` is readable; None where the client has left and nothing is owed."""
        poll = select.poll()
        poll.register(wake, select.POLLIN)
        while True:
            self._watch(poll)
            ready = dict(poll.poll(HEAD_START if self._begin is not None else None))
            if self._sink in ready and self._out:
                self._flush()
            if self._source in ready and not self._ended and not self.stopping:
                self._read()
            if wake in ready:
                return self._handover()
            if self._nothing_left() and self._may_leave():
                return None
            if self._begin is not None and (not ready or self._needs_the_rest()):
                self._begin()
                self._begin = None

    @property
    def owes(self) -> bool:
        """Whether somebody waits for an answer."""
        return bool(self._answers.waiting or self._answers.refuses or self._out)

    def _needs_the_rest(self) -> bool:
        has_listed = self._answers.listed and not self._out
        return has_listed or bool(self._answers.waiting) or self._ended or self.stopping

    def _nothing_left(self) -> bool:
        return (self._ended or self.stopping) and not self.owes

    def _watch(self, poll: select.poll) -> None:
        if self._ended or self.stopping or len(self._out) > FULL or self._kept > FULL:
            _forget(poll, self._source)
        else:
            poll.register(self._source, select.POLLIN | select.POLLHUP)
        if self._out:
            poll.register(self._sink, select.POLLOUT)
        else:
            _forget(poll, self._sink)

    def _read(self) -> None:
        chunk = os.read(self._source, 65536)
        lines = self._splitter.feed(chunk) if chunk else self._splitter.rest()
        self._ended = not chunk
        for line in lines:
            answer = self._answers.answer(line)
            if answer is not None:
                self._out += answer + b"\n"
            elif isinstance(line, bytes):
                self._kept += len(line)
        if self._out:
            self._flush()

    def _flush(self) -> None:
        """Write what can be written at once; a ready pipe takes `select.PIPE_BUF` bytes whole."""
        ready = select.poll()
        ready.register(self._sink, select.POLLOUT)
        while self._out and ready.poll(0):
            try:
                written = os.write(self._sink, self._out[: select.PIPE_BUF])
            except OSError:
                self._out.clear()
                self._ended = True
                return
            del self._out[:written]

    def _handover(self) -> Handover:
        return Handover(
            lines=self._answers.replay,
            answered=self._answers.answered | self._answered,
            unsent=bytes(self._out),
            ended=self._ended,
            stopping=self.stopping,
            splitter=self._splitter,
            listed=self._listed or self._answers.listed,
            answers=self._answers,
        )


def _forget(poll: select.poll, descriptor: int) -> None:
    try:
        poll.unregister(descriptor)
    except KeyError:
        return
