"""What packs print: it goes to standard error, secrets masked, and control characters
shown but for those that colour.
"""

from __future__ import annotations

import io
import re
import sys
import threading
from typing import TYPE_CHECKING, Any, TextIO, cast

from ..startup.printable import shown

if TYPE_CHECKING:
    from ..settings.secrets import Secrets

COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")
LONGEST_LINE = 64 * 1024
"""Characters of a line that are kept back until it ends."""


class MaskedStream(io.TextIOBase):
    """A text stream that writes whole lines to another, masked.

    What is written to the stream beneath, or to its descriptor, is not masked.
    """

    def __init__(self, under: TextIO, secrets: Secrets) -> None:
        self._under = under
        self._secrets = secrets
        self._rest = ""
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        with self._lock:
            whole, end, self._rest = (self._rest + text).rpartition("\n")
            if len(self._rest) > LONGEST_LINE:
                whole, end, self._rest = whole + end + self._rest, "", ""
        if whole or end:
            self._write(whole + end)
        return len(text)

    def flush(self) -> None:
        with self._lock:
            rest, self._rest = self._rest, ""
        if rest:
            self._write(rest)
        self._under.flush()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._under.fileno()

    def isatty(self) -> bool:
        return self._under.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._under, name)  # `buffer`, `reconfigure` and the like

    def _write(self, text: str) -> None:
        parts = COLOUR.split(self._secrets.redact(text))
        self._under.write("".join(p if n % 2 else shown(p) for n, p in enumerate(parts)))


def mask(secrets: Secrets) -> None:
    """Have everything masked that is printed from now on."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # as it is where a process was started with it closed
            continue
        under = stream._under if isinstance(stream, MaskedStream) else stream
        setattr(sys, name, cast(TextIO, MaskedStream(under, secrets)))
