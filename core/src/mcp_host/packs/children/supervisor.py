"""The host's end of the supervisor, the process that starts and ends the packs' processes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ...startup.descriptors import private
from .bootstrap import program
from .child import Child, ChildLaunch, Ended, Process, Program, started
from .frames import FrameError, Frames, frame

CHILDS_PROGRAM = "mcp_host.packs.children.entry"
END_PATIENCE = 5.0
"""Seconds that the supervisor gets to end all that it has started."""

P = TypeVar("P", bound=Process)


class Supervisor:
    """Starts children, and hears when one ends; begins with the first child.

    The supervisor forks children from one thread and without any pack in it, adopts what they leave
    behind, and ends them all when its socket closes: also when the host is killed. Every method may
    be called in any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._children: dict[int, Process] = {}
        self._number = 0

    @property
    def pid(self) -> int | None:
        """The supervisor's process; None where there is none."""
        return self._process.pid if self._process is not None else None

    def begin(self) -> None:
        """Start the supervisor's process, where there is none."""
        with self._lock:
            self._begin()

    def start(self, launch: ChildLaunch) -> Child:
        """Start a child; `OSError` where the supervisor cannot be started."""
        here, there = socket.socketpair()
        here = _out_of_reach(here)
        with there:
            return self._start(launch, [there.fileno()], partial(Child, here))

    def run(self, launch: ChildLaunch) -> Program:
        """Start a program that is spoken to by its standard streams; `OSError` as `start`."""
        ours, theirs = list[int](), list[int]()
        for reads in (True, False, False):
            ends = os.pipe()
            theirs.append(ends[0] if reads else ends[1])
            ours.append(private(ends[1] if reads else ends[0]))
            os.close(ends[1] if reads else ends[0])
        try:
            return self._start(launch, theirs, partial(Program, (ours[0], ours[1], ours[2])))
        except OSError:
            for end in ours:
                os.close(end)
            raise
        finally:
            for end in theirs:
                os.close(end)

    def _start(
        self, launch: ChildLaunch, ends: Sequence[int], made: Callable[[Callable[[], None]], P]
    ) -> P:
        """Start a process that gets these descriptors: its border, or its standard streams."""
        with self._lock:
            self._begin()
            assert self._socket is not None
            self._number += 1
            number = self._number
            process = self._children[number] = made(partial(self._kill, number))
            argv = launch.argv
            if argv is not None and not launch.is_whole:
                argv = (*argv, *program(CHILDS_PROGRAM, descriptor=3))
            message = {
                "start": number,
                "ends": len(ends),
                "argv": argv,
                "environment": dict(launch.environment),
                "path": list(launch.path),
                "folder": launch.folder or str(Path.cwd()),
                "limits": dict(launch.limits or {}),
            }
            data = frame(message)
            try:
                socket.send_fds(self._socket, [data[:1]], list(ends))
                self._socket.sendall(data[1:])
            except OSError:
                self._forget(Ended(-signal.SIGKILL))
        return process

    def close(self) -> None:
        """End every child and the supervisor."""
        with self._lock:
            process, end = self._process, self._socket
            self._process = self._socket = None
        if end is not None:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        if process is not None:
            try:
                process.wait(END_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _begin(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        if sys.platform == "win32":
            raise OSError('isolation = "process" needs Linux or macOS')
        here, there = socket.socketpair()
        with there:
            command = program(
                "mcp_host.packs.children.supervisor_program",
                descriptor=there.fileno(),
                path=sys.path,
                preloaded="mcp_host.runtime.child_side",
                entry=CHILDS_PROGRAM,
            )
            self._process = subprocess.Popen(
                [sys.executable, *command],
                stdin=subprocess.DEVNULL,
                stdout=2,
                pass_fds=(there.fileno(),),
                start_new_session=True,
            )
        self._socket = _out_of_reach(here)
        listener = partial(self._listen, self._socket)
        threading.Thread(target=listener, name="supervisor", daemon=True).start()

    def _kill(self, number: int) -> None:
        with self._lock, suppress(OSError):
            if self._socket is not None:
                self._socket.sendall(frame({"kill": number}))

    def _listen(self, end: socket.socket) -> None:
        """Take in what the supervisor tells, until it ends."""
        frames = Frames()
        with suppress(OSError, FrameError):
            while data := end.recv(65536):
                frames.feed(data)
                for message, _ in frames:
                    self._hear(message)
        with self._lock:
            if self._socket in (end, None):
                self._forget(Ended(-signal.SIGKILL))

    def _hear(self, message: Mapping[str, Any]) -> None:
        with self._lock:
            if "started" in message:
                started(message, self._children[message["started"]])
                return
            child = self._children.pop(message["ended"])
        child.known.set()
        child.ended.set_result(Ended(message["status"], message["over"]))

    def _forget(self, ended: Ended) -> None:
        """Give up every child: whoever would tell of it is gone."""
        children, self._children = self._children, {}
        _end_sessions({child.pid for child in children.values() if child.pid})
        for child in children.values():
            child.known.set()
            child.ended.set_result(ended)
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = self._socket = None


def _end_sessions(leaders: set[int]) -> None:
    """End what is left of children whose supervisor was killed; each led a session of its own."""
    for folder in Path("/proc").iterdir() if leaders and sys.platform == "linux" else ():
        if folder.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):  # it ended meanwhile
                after_name = (folder / "stat").read_text("latin-1").rpartition(")")[2]
                if int(after_name.split()[3]) in leaders:
                    os.kill(int(folder.name), signal.SIGKILL)


def _out_of_reach(side: socket.socket) -> socket.socket:
    """Return the same end of a socket pair under a number that no pack meets by chance."""
    copy = socket.socket(fileno=private(side.fileno()))
    side.close()
    return copy
