"""The signals that ask the process to end."""

from __future__ import annotations

import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

NUMBERS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


RELOAD = getattr(signal, "SIGUSR1", None)
"""The signal that asks a host to read its settings again; None where there is none."""


def on_reload() -> None:
    """Have the signal do nothing by itself: who hears it is the watchdog, once there is one."""
    if RELOAD is not None:
        signal.signal(RELOAD, lambda *_: None)


def on_end(handler: Callable[..., None]) -> None:
    """Have a function called, in the main thread, where a signal asks the process to end.

    SIGHUP stays ignored where whoever started the process wants that, as `nohup` does.
    """
    for number in NUMBERS:
        wanted = number in (signal.SIGINT, signal.SIGTERM)
        if wanted or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)
