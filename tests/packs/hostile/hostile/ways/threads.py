"""What a pack does with threads."""

import contextvars
import os
import threading
import time
import weakref

from hostile.registry import CHANGES, ENDS, at_import, in_call

KEPT: list[object] = []


@at_import()
def live_on() -> None:
    """Starts 20 threads that the interpreter waits for at its end, and that never end."""
    for _ in range(20):
        threading.Thread(target=threading.Event().wait).start()


@in_call()
def are_many() -> str:
    """Starts 1,000 threads that wait for ever."""
    for _ in range(1_000):
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    return "done"


@in_call()
def spin() -> str:
    """Starts 16 threads that compute for ever in Python."""

    def compute() -> None:
        while True:
            pass

    for _ in range(16):
        threading.Thread(target=compute, daemon=True).start()
    return "done"


@in_call()
def raise_without_end() -> str:
    """Starts 2,000 threads that end with an exception."""
    for _ in range(2_000):
        threading.Thread(target=int, args=("no number",), daemon=True).start()
    return "done"


@at_import(ENDS)
def end_the_process_when_one_fails() -> None:
    """Has `threading.excepthook` end the process, and a thread that fails."""
    threading.excepthook = lambda given: os._exit(4)
    threading.Thread(target=int, args=("no number",), daemon=True).start()


@at_import()
def hang_when_one_fails() -> None:
    """Has `threading.excepthook` wait for ever, and a thread that fails."""
    threading.excepthook = lambda given: threading.Event().wait() and None
    threading.Thread(target=int, args=("no number",), daemon=True).start()


@at_import(CHANGES)
def do_not_start() -> None:
    """Replaces `threading.Thread.start` by a function that does nothing."""
    threading.Thread.start = lambda self: None  # type: ignore[method-assign]


@in_call()
def keep_a_lock() -> str:
    """Takes the lock of `threading`'s list of threads for ever, in a thread."""

    def hold() -> None:
        with threading._active_limbo_lock:  # type: ignore[attr-defined]
            threading.Event().wait(60)

    KEPT.append(hold)
    return "done"


@in_call()
def set_context_variables() -> str:
    """Sets every context variable that it finds to a number."""
    for variable in contextvars.copy_context():
        variable.set(7)
    return "done"


class Thing:
    """Something that can be held weakly."""


@in_call()
def hang_in_a_weak_reference() -> str:
    """Has a callback of a weak reference that takes 20 s, in a circle of garbage."""
    thing = Thing()
    thing.itself = thing  # type: ignore[attr-defined]
    KEPT.append(weakref.ref(thing, lambda _: time.sleep(20)))
    return "done"
