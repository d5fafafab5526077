"""What the command's process was given: streams, a width, signals."""

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType


def use_what_is_there() -> None:
    """Make do with streams that are closed or know few letters, and with a width that is none."""
    null = Path(os.devnull)
    if sys.stdin is None:
        sys.stdin = null.open(encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = null.open("w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = null.open("w", encoding="utf-8")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    width = os.environ.get("COLUMNS", "80")
    if not (width.isascii() and width.isdecimal() and int(width)):
        del os.environ["COLUMNS"]  # some shells say 0: then nothing would be shown


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Let the signals that end a process end it as an error does: what it started is ended too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    known = {number: signal.getsignal(number) for number in (getattr(signal, n) for n in names)}
    ours = [number for number, handler in known.items() if handler is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, known[number])


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)
