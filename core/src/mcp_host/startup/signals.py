"""The signals that ask the process to end."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:
    import _signal as signal  # the same without `enum`, which takes long to import

SIGTERM = int(signal.SIGTERM)
NUMBERS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


RELOAD = getattr(signal, "SIGUSR1", None)
"""The signal that asks a host to read its settings again; None where there is none."""


def on_reload() -> None:
    """Have the signal do nothing by itself: who hears it is the watchdog, once there is one."""
    if RELOAD is not None:
        signal.signal(RELOAD, lambda *_: None)


def pass_reload_on(process: int) -> None:
    """Have that signal sent on to a process, by its descriptor, while that is there."""
    number = RELOAD
    if number is None:
        return

    def send(*_: object) -> None:
        try:
            signal.pidfd_send_signal(process, number)
        except OSError:
            return  # it is no more, and the next one reads its settings anew

    signal.signal(number, send)


def on_end(handler: Callable[..., None]) -> None:
    """Have a function called, in the main thread, where a signal asks the process to end.

    SIGHUP stays ignored where whoever started the process wants that, as `nohup` does.
    """
    for number in NUMBERS:
        wanted = number in (signal.SIGINT, signal.SIGTERM)
        if wanted or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)


def after(seconds: float, function: Callable[[], object]) -> None:
    """Have a function called in the main thread after some seconds; not at all where they are 0."""
    signal.signal(signal.SIGALRM, lambda *_: function())
    signal.setitimer(signal.ITIMER_REAL, seconds)


def off_end(handler: Callable[..., None]) -> None:
    """Have a function called no more that `on_end` was given."""
    for number in NUMBERS:
        if signal.getsignal(number) == handler:
            signal.signal(number, signal.SIG_DFL)


def kill(process: int) -> None:
    """Kill a process by its descriptor; `ProcessLookupError` where it is no more."""
    signal.pidfd_send_signal(process, signal.SIGKILL)
