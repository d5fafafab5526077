"""For how long a thread may hold the interpreter while another waits for it."""

import sys

LONG = 0.005
"""Seconds where many short calls run, which is what Python has by itself."""


def is_long() -> bool:
    """Whether many short calls run, as `switching` has found; a matter of the whole process."""
    return sys.getswitchinterval() > LONG / 2
