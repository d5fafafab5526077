"""The supervisor: one thread, no pack; the process that starts and ends the packs' processes.

Each child leads a session of its own and adopts what its programs leave behind. What a child leaves
behind when it ends falls to the supervisor, and is ended. All ends when the host's socket closes.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import resource
import selectors
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from .cgroups import MemoryGroup, memory_group
from .frames import Frames, frame

LOOK = 0.2
"""Seconds between two looks at what the children use, where a limit is set."""
PARENT_DEATH_SIGNAL, CHILD_SUBREAPER = 1, 36
DESCRIPTOR = 3
"""Where a child finds its end of the border."""
IGNORED_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)
"""What Python ignores, and another program would as well that is begun by it."""
UNKNOWN_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PAGE = os.sysconf("SC_PAGE_SIZE")
LAST_ROUND = 10.0


def main(descriptor: int, path: list[str], preloaded: str, entry: str) -> None:
    """Serve the host at the other end of a socket, until it closes."""
    sys.path[:] = path
    SupervisorProgram(socket.socket(fileno=descriptor), preloaded, entry).run()


class SupervisorProgram:
    """The children by their process ids, each with the host's number for it and its limits.

    `_groups` are those whose memory the kernel holds; that of others is looked at. `_left` are
    groups that could not be removed at once.

    Invariants: while there is a host, `_numbers` and `_limits` have every child from its start
    until it is reaped, and `_over` and `_groups` none but those. `_descriptors` are those whose
    `start` has not been read yet, in order. There is one thread.
    """

    def __init__(self, host: socket.socket, preloaded: str, entry: str) -> None:
        self._host = host
        self._preloaded = preloaded
        self._entry = entry
        self._numbers: dict[int, int] = {}
        self._limits: dict[int, Mapping[str, int]] = {}
        self._over: dict[int, str] = {}
        self._groups: dict[int, MemoryGroup] = {}
        self._left: list[MemoryGroup] = []
        self._descriptors: deque[int] = deque()
        self._frames = Frames()
        self._wake, self._signals = os.pipe()
        self._is_loaded = False

    def run(self) -> NoReturn:
        """Do what the host says, and tell it of every child that ends."""
        for number in UNKNOWN_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        _process_control(CHILD_SUBREAPER, 1)
        for end in (self._wake, self._signals):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._signals, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _do_nothing)
        selector = selectors.DefaultSelector()
        selector.register(self._host, selectors.EVENT_READ)
        selector.register(self._wake, selectors.EVENT_READ)
        while True:
            ready = selector.select(LOOK if any(self._limits.values()) else None)
            for key, _ in ready:
                if key.fileobj is self._host:
                    self._hear()
                else:
                    os.read(self._wake, 4096)
            self._reap()
            self._look()

    def _hear(self) -> None:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._host, 65536, 16)
        except OSError:
            data, descriptors = b"", []
        self._descriptors += descriptors
        if not data:
            self._end_all()
        self._frames.feed(data)
        for message, _ in self._frames:
            if "start" in message:
                self._start(message)
            else:
                self._kill(message["kill"])

    def _tell(self, message: Mapping[str, Any]) -> None:
        with suppress(OSError):
            self._host.sendall(frame(message))

    def _start(self, message: Mapping[str, Any]) -> None:
        if message["argv"] is None and not self._is_loaded:
            self._load()
        descriptors = [self._descriptors.popleft() for _ in range(message["ends"])]
        limits = message["limits"]
        group = None
        if "memory" in limits:
            group = memory_group(message["start"], limits["memory"])
        child = os.fork()
        if child == 0:
            self._become(message, descriptors, group)
        if group is not None:
            self._groups[child] = group
        for descriptor in descriptors:
            os.close(descriptor)
        self._numbers[child] = message["start"]
        self._limits[child] = {k: limits[k] for k in ("memory", "processes") if k in limits}
        self._tell({"started": message["start"], "pid": child})

    def _load(self) -> None:
        """Import once what every forked child needs, and keep it where the copies share it."""
        importlib.import_module(self._preloaded)
        importlib.import_module(self._entry)
        gc.collect()
        gc.freeze()
        self._is_loaded = True

    def _become(
        self, message: Mapping[str, Any], descriptors: Sequence[int], group: MemoryGroup | None
    ) -> NoReturn:
        """Become a child, in the process that was forked just now.

        One that gets a single descriptor has the host's border there; another its standard streams.
        """
        try:
            supervisor = os.getppid()
            if group is not None:
                group.enter()
            signal.set_wakeup_fd(-1)
            for number in (*UNKNOWN_SIGNALS, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.setsid()
            _process_control(PARENT_DEATH_SIGNAL, signal.SIGKILL)
            _process_control(CHILD_SUBREAPER, 1)
            if os.getppid() != supervisor:
                os._exit(1)
            self._host.detach()
            first = DESCRIPTOR if len(descriptors) == 1 else 0
            for place, descriptor in enumerate(descriptors, first):
                os.dup2(descriptor, place)
            os.closerange(first + len(descriptors), _most_descriptors())
            os.chdir(message["folder"])
            _limit_open_files(message["limits"])
            if message["argv"] is not None:
                for number in IGNORED_SIGNALS:
                    signal.signal(number, signal.SIG_DFL)
                os.execve(message["argv"][0], message["argv"], message["environment"])  # noqa: S606 - no shell is wanted
            os.environ.clear()
            os.environ.update(message["environment"])
            sys.path[:] = message["path"]
            importlib.import_module(self._entry).main(DESCRIPTOR)
        except OSError as error:
            os.write(2, f"a pack's process cannot be started: {error}\n".encode())
        finally:
            os._exit(1)

    def _kill(self, number: int) -> None:
        for child, known in self._numbers.items():
            if known == number:
                _end(child)

    def _reap(self) -> None:
        """Tell of every child that has ended, and end what it left behind."""
        while True:
            try:
                child, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if child == 0:
                break
            number = self._numbers.pop(child, None)
            if number is None:
                continue  # what a child left behind
            with suppress(OSError):
                os.killpg(child, signal.SIGKILL)
            del self._limits[child]
            over = self._over.pop(child, "")
            if (group := self._groups.pop(child, None)) is not None:
                over = over or ("memory" if group.is_over else "")
                self._left.append(group)
            code = os.waitstatus_to_exitcode(status)
            self._tell({"ended": number, "status": code, "over": over})
        self._left = [group for group in self._left if not group.remove()]
        for orphan in _children(os.getpid()) - self._numbers.keys():
            _end(orphan)

    def _look(self) -> None:
        """End each child that uses more than it may."""
        for child, limits in self._limits.items():
            if not limits or child in self._over:
                continue
            everyone = _descendants(child)
            used = {"processes": len(everyone)}
            if (group := self._groups.get(child)) is not None:
                used["memory"] = limits["memory"] + 1 if group.is_over else 0
            elif "memory" in limits:
                used["memory"] = sum(_resident(each) for each in everyone)
            for name, most in limits.items():
                if used[name] > most:
                    self._over[child] = name
                    _end(child)
                    break

    def _end_all(self) -> NoReturn:
        """End everything, and the supervisor."""
        ends_at = time.monotonic() + LAST_ROUND
        while time.monotonic() < ends_at:
            for child in _children(os.getpid()) | self._numbers.keys():
                _end(child)
            try:
                child, _ = os.waitpid(-1, 0)
                self._numbers.pop(child, None)
            except ChildProcessError:
                break
        for group in (*self._left, *self._groups.values()):
            group.remove()
        os._exit(0)


def _end(process: int) -> None:
    with suppress(OSError):
        os.kill(process, signal.SIGKILL)


def _process_control(option: int, value: int) -> None:
    """Set what Linux keeps of a process for its end; elsewhere there is nothing like it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _most_descriptors() -> int:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 65536 if most == resource.RLIM_INFINITY else most


def _limit_open_files(limits: Mapping[str, int]) -> None:
    if "open_files" in limits:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = limits["open_files"]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _parents() -> dict[int, int]:
    """Return the parent of every process that lives."""
    parents = {}
    for folder in Path("/proc").iterdir() if sys.platform == "linux" else ():
        if folder.name.isdecimal():
            with suppress(OSError):  # it ended meanwhile
                after_name = (folder / "stat").read_text("latin-1").rpartition(")")[2]
                state, parent = after_name.split()[:2]
                if state != "Z":
                    parents[int(folder.name)] = int(parent)
    return parents


def _children(process: int) -> set[int]:
    return {child for child, parent in _parents().items() if parent == process}


def _descendants(process: int) -> set[int]:
    """Return a process and all that it has started."""
    parents = _parents()
    found, new = set[int](), {process}
    while new:
        found |= new
        new = {child for child, parent in parents.items() if parent in new} - found
    return found


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE
    except (OSError, ValueError):
        return 0


def _do_nothing(_number: int, _frame: object) -> None:
    """Have the signal wake the selector."""
