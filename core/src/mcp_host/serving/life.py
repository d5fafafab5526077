"""A worker of `serve --workers` ends where the process that started it is gone."""

from __future__ import annotations

import os
import signal
import threading


def end_with(life: int) -> None:
    """Have SIGTERM end this process where the other end of a pipe is closed.

    Else nobody could stop it, and it would keep the socket from the next start.
    """

    def wait() -> None:
        os.read(life, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="life", daemon=True).start()
