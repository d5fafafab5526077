"""Keeps threads that take turns with the interpreter on one processor while many short calls run.

One interpreter runs one of them at a time. On two processors they gain nothing, and the caches of
each have to take what the other left: a call of one of 50 clients takes a tenth more processor
time.

What a held thread starts would be held as well. So a thread is let go before it starts a program,
which the interpreter's audit events tell, and threads that it has started are let go with the next
look. `multiprocessing` starts programs without such an event: where its ways to do so are loaded,
no thread is held. What is left are programs that a library in C starts by itself.

For Linux alone.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .affinity import WakeAffinity, bind, only, processors_of

assert sys.platform == "linux"

LOOKS = 15
"""Looks after which the system may choose another processor, until the next look."""
STARTING = frozenset(
    {
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.system",
        "subprocess.Popen",
        "_thread.start_new_thread",
        "_thread.start_joinable_thread",
    }
)
"""Audit events of which a thread or a program is started next, in the same thread."""
UNHEARD = frozenset({"multiprocessing.popen_forkserver", "multiprocessing.popen_spawn_posix"})
"""Modules that start programs without an audit event."""

_holding: set[OneProcessor] = set()
"""Those that hold threads of this process."""
_listens = threading.Event()


class OneProcessor:
    """Holds the host's thread and those of the packs' loops on one processor, as long as it may.

    Made in the host's thread; all else is called in one other. `_on` is the processor on which
    threads are held, as a set; while there is none, nothing is `_held`. Threads that are `_known`
    were there before, or have been looked at: where they may run is somebody else's matter.
    """

    def __init__(self) -> None:
        self._main = WakeAffinity()
        self._main.begin()
        self._held: list[WakeAffinity] = []
        self._known: set[int] = set()
        self._on = b""
        self._looks = 0

    def hold(self, loops: Sequence[WakeAffinity]) -> None:
        """Hold the host's thread and those of these loops until the next look, or let all go."""
        self._looks += 1
        may = self._looks <= LOOKS and UNHEARD.isdisjoint(sys.modules)
        if not (may and loops and self._main.thread):
            self.let_go()
            return
        if not self._on:
            _listen()
            self._known = set(_threads())
            self._on = _latest_processor(self._main.thread)
            _holding.add(self)
        threads = [self._main, *loops]
        for thread in self._held:
            if thread not in threads:
                thread.let_go()
        self._held = threads
        for thread in threads:
            thread.hold(self._on)
        self._free_started()

    def let_go(self) -> None:
        """Let every thread run wherever there is room."""
        self._looks = 0
        if not self._on:
            return
        _holding.discard(self)
        for thread in self._held:
            thread.let_go()
        self._held = []
        self._free_started()
        self._on = b""

    def free_this(self) -> None:
        """Let the calling thread go until the next look, where it is held; in any thread."""
        if processors_of(0) == self._on:
            bind(0, self._main.free)

    def _free_started(self) -> None:
        """Let go of threads that held ones have started."""
        for thread in _threads():
            if thread not in self._known:
                self._known.add(thread)
                if processors_of(thread) == self._on:
                    bind(thread, self._main.free)


def _threads() -> Iterable[int]:
    """The threads of this process, by their number in the system."""
    return (int(task.name) for task in Path("/proc/self/task").iterdir())


def _latest_processor(thread: int) -> bytes:
    """The processor on which a thread of this process ran last, as a set."""
    text = Path(f"/proc/self/task/{thread}/stat").read_text(encoding="utf-8", errors="replace")
    return only(int(text.rpartition(")")[2].split()[36]))  # `processor` in proc(5)


def _listen() -> None:
    """Hear from now on what threads start; who hears audit events does so for good."""
    if not _listens.is_set():
        _listens.set()
        sys.addaudithook(_hear)


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _holding and (event in STARTING or (event == "import" and arguments[0] in UNHEARD)):
        for one in list(_holding):
            one.free_this()
