"""Standard output belongs to the protocol, or to a command's own answer: nobody else writes to it.

Claimed before any pack is imported; whatever a pack prints goes to standard error.
"""

from __future__ import annotations

import os
import sys

from .descriptors import private


def claim() -> tuple[int, int]:
    """Take descriptors 0 and 1 away: private copies of both; others read nothing and write to 2."""
    _open_what_is_closed()
    if sys.stdout is not None:  # as it is where a process was started with it closed
        sys.stdout.flush()
    source, sink = private(0), private(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return source, sink


def _open_what_is_closed() -> None:
    """A closed standard stream is an empty one: no file that is opened later may take its place."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
