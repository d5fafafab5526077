"""The process of a server that speaks MCP on stdio: lines of JSON in, lines of JSON out."""

from __future__ import annotations

import errno
import os
import select
import shutil
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mcp_host import ThreadBorder

from .long_lines import SHORT
from .written import read, write

Message = dict[str, Any]
Hear = Callable[[Message], None]

LONGEST_LINE = 32 * 1024 * 1024
"""Bytes of the longest line that is read; a server that writes a longer one is ended."""
MOST_UNSENT = 64 * 1024 * 1024
"""Bytes that may wait for a server that does not read."""
LAST_LINES = 5
LONGEST_WORDS = 2000
LAST = 300
"""Characters of the last line that are told where a server has ended."""
LAST_WORDS = 0.3
"""Seconds in which the last that an ended server wrote is still heard."""
PORTION = 64 * 1024
"""Bytes that are read at once; more would be mapped anew by the system for each answer."""
MUCH = 4096
"""Bytes that may be work for long, when they have come at once."""
TURN, REST = 0.005, 2.0
"""Seconds of work that a server makes without a pause, and how much longer a pause is."""
PATIENCE = 2.0
"""Seconds that a server gets to end once its input is closed, and again once it was told to."""


class LinkError(Exception):
    """The server cannot be reached, or is no more; the message says why."""


class StdioLink:
    """One process of a server, which ends with the host and with all that it has started.

    `hear` gets every message, in one thread, but those longer than `SHORT` that `refuses` says are
    too long to be parsed; `unreadable` gets a line that is no JSON, and says whether it was an
    answer. `say` hears every line that the server writes for people. `on_end` hears once why no
    more will come.

    Invariants: `_unsent`, `_is_writing` and `_input` change under `_lock`. While something is
    `_unsent`, one thread writes it, and every further message waits behind it. Once closed,
    `_input` is -1.
    """

    def __init__(
        self,
        border: ThreadBorder,
        argv: Sequence[str],
        environment: Mapping[str, str],
        folder: str,
        hear: Hear,
        refuses: Callable[[bytes], bool],
        unreadable: Callable[[bytes], bool],
        say: Callable[[str], None],
        on_end: Callable[[str], None],
    ) -> None:
        self._border = border
        self._hear = hear
        self._refuses = refuses
        self._unreadable = unreadable
        self._say = say
        self._on_end = on_end
        self._lock = threading.Lock()
        self._unsent = bytearray()
        self._is_writing = False
        self._last: deque[str] = deque(maxlen=LAST_LINES)
        self._why = ""
        try:
            place = _place(argv[0], environment, folder)
            self._program = border.start([place, *argv[1:]], environment, folder)
        except OSError as error:
            reason = error.strerror or error
            raise LinkError(f"{argv[0]} cannot be started: {reason}") from None
        self._input = self._program.input
        os.set_blocking(self._input, False)
        self._words = threading.Thread(target=self._hear_words, name="words", daemon=True)
        self._words.start()
        self._reader = threading.Thread(target=self._read, name="server", daemon=True)
        self._reader.start()
        threading.Thread(target=self._wait, name="waiter", daemon=True).start()

    def send(self, message: Message) -> None:
        """Write a message; raises `LinkError` where the server takes none.

        Never waits for the server: what it does not read at once is written by another thread, so
        that whoever reads from it goes on reading.
        """
        data = write(message) + b"\n"
        with self._lock:
            if self._input < 0:
                raise LinkError("the server was ended")
            written = 0
            if not self._unsent:
                try:
                    written = os.write(self._input, data)
                except BlockingIOError:
                    pass
                except OSError as error:
                    raise LinkError(f"the server takes no messages: {error.strerror}") from None
            if written == len(data):
                return
            if len(self._unsent) > MOST_UNSENT:
                raise LinkError("the server does not read its messages")
            self._unsent += data[written:]
            if not self._is_writing:
                self._is_writing = True
                threading.Thread(target=self._write, name="writer", daemon=True).start()

    def _write(self) -> None:
        """Write what waits, until nothing does."""
        while True:
            with suppress(OSError, ValueError):
                select.select((), (self._input,), (), PATIENCE)
            with self._lock:
                try:
                    del self._unsent[: os.write(self._input, self._unsent[: 1 << 16])]
                except BlockingIOError:
                    continue
                except OSError:
                    self._unsent.clear()
                if not self._unsent:
                    self._is_writing = False
                    return

    def close(self) -> None:
        """End the server: close its input, wait, and end it and what it has started."""
        self._close_input()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._has_ended_within(PATIENCE):
                return
            self._program.signal(number)
        self._program.kill()

    def _close_input(self) -> None:
        with self._lock:
            end, self._input = self._input, -1
            if end >= 0:
                os.close(end)

    def _has_ended_within(self, seconds: float) -> bool:
        try:
            self._program.ended.result(seconds)
        except TimeoutError:
            return False
        return True

    def agreed(self, version: str) -> None:
        """Note the version of the protocol, which messages on stdio do not name."""

    def _read(self) -> None:
        output = self._program.output
        unended: list[bytes] = []
        length = 0
        with suppress(OSError):
            while data := os.read(output, PORTION):
                if not length and data.find(b"\n") == len(data) - 1 < MUCH:  # as most come
                    self._take(data)
                    self._border.breathe()
                    continue
                is_much = len(data) >= MUCH
                began = time.thread_time() if is_much else 0.0
                end, *lines = data.split(b"\n")
                unended.append(end)
                length += len(end)
                if lines:
                    self._take(b"".join(unended))
                    unended = [lines.pop()]
                    length = len(unended[0])
                for line in lines:
                    self._take(line)
                if length > LONGEST_LINE:
                    self._why = f"it wrote a line of more than {LONGEST_LINE} bytes"
                    break
                self._border.breathe()
                if is_much and (spent := time.thread_time() - began) > TURN:
                    time.sleep(REST * spent)  # others need the interpreter as well
        os.close(output)
        if self._why or not self._has_ended_within(PATIENCE):
            self._why = self._why or "it closed its output"
            self._program.kill()

    def _wait(self) -> None:
        """Tell of the end; what the server leaves behind may hold its output open for ever."""
        code = self._program.ended.result().status
        for thread in (self._reader, self._words):
            thread.join(LAST_WORDS)
        self._close_input()
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        last = f"; it wrote last: {self._last[-1][:LAST]}" if self._last else ""
        self._on_end(self._why or f"it ended ({how}){last}")

    def _take(self, line: bytes) -> None:
        if len(line) > SHORT and self._refuses(line):
            self._say(f"a message of {len(line)} bytes is too long, and was passed over")
            return
        try:
            message = read(line)
        except (ValueError, RecursionError):
            if line.strip() and not self._unreadable(line):
                self._tell(line)
            return
        if type(message) is dict:
            self._hear(message)
            return
        for one in message if isinstance(message, list) else ():
            if isinstance(one, dict):
                self._hear(one)

    def _hear_words(self) -> None:
        with suppress(OSError, ValueError), os.fdopen(self._program.errors, "rb") as errors:
            while line := errors.readline(LONGEST_WORDS):
                self._tell(line)

    def _tell(self, line: bytes) -> None:
        words = line[:LONGEST_WORDS].decode("utf-8", "replace").rstrip()
        if words:
            self._last.append(words)
            self._say(words)


def _place(program: str, environment: Mapping[str, str], folder: str) -> str:
    """Return where a program is that is started in a folder; `OSError` where it cannot be."""
    Path(folder).stat()
    if "/" not in program:
        found = shutil.which(program, path=environment.get("PATH", os.defpath))
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        program = found
    place = Path(folder, program)
    if not os.access(place, os.X_OK):
        number = errno.EACCES if place.exists() else errno.ENOENT
        raise OSError(number, os.strerror(number))
    return str(place)
