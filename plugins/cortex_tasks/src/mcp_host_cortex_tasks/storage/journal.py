"""The journal: what each command did, step by step, with the refs before and after.

It is never believed: every command looks at git and the server first. It tells what was pending,
and it is what `ctx undo` reads.
"""

import hashlib
import json
import os
import socket
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from ..errors import BusyError
from .files import private_folder, replace_text

KEEP = 50


@dataclass(slots=True)
class Step:
    """One thing that changed something: `name` is a stable word, `what` a sentence.

    `before` and `after` hold refs and states, enough to take the step back.
    """

    name: str
    what: str
    before: dict[str, str | None]
    after: dict[str, str | None]
    done: bool = False


@dataclass(slots=True)
class Entry:
    """One run of one command."""

    path: Path
    command: str
    task_id: int
    began: float
    branch: str | None = None
    steps: list[Step] = field(default_factory=list)
    finished: bool = False
    undone: bool = False
    process: str = ""
    facts: dict[str, str | None] = field(default_factory=dict)

    @property
    def running(self) -> bool:
        """Whether another process is at it now."""
        return not self.finished and self.process != this_process() and is_alive(self.process)

    @property
    def pending(self) -> list[str]:
        """What this command still had to do."""
        return [step.what for step in self.steps if not step.done]


class Journal:
    """The entries in one folder, oldest first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, command: str, task_id: int, branch: str | None = None) -> Entry:
        """Start an entry; it reaches the disk with its first step."""
        now = time.time_ns()
        path = self._folder / f"{now:020d}-{os.getpid()}-{command}.json"
        return Entry(path, command, task_id, now / 1e9, branch, process=this_process())

    def keep(self, entry: Entry) -> None:
        """Write an entry as it is now, and forget the oldest ones."""
        private_folder(self._folder)
        data = asdict(entry)
        del data["path"]
        replace_text(entry.path, json.dumps(data, indent=1))
        for old in sorted(self._folder.glob("*.json"))[:-KEEP]:
            past = _read(old)
            if past is None or past.finished or past.undone:
                old.unlink(missing_ok=True)

    def forget(self, entry: Entry) -> None:
        """Drop the entry of a command that changed nothing."""
        entry.path.unlink(missing_ok=True)

    def interrupted(self, command: str, task_id: int) -> Entry | None:
        """Return the newest run of a command that was begun and neither finished nor undone."""
        for path in sorted(self._folder.glob("*.json"), reverse=True):
            entry = _read(path)
            if (
                entry is None
                or entry.undone
                or (entry.command, entry.task_id) != (command, task_id)
            ):
                continue
            return None if entry.finished or entry.running else entry
        return None

    def dead(self) -> list[Entry]:
        """Return the runs that were begun here, on this machine, and ended without finishing."""
        here = this_process().rpartition("/")[0]
        found = (_read(path) for path in sorted(self._folder.glob("*.json")))
        return [
            entry
            for entry in found
            if entry is not None and not entry.finished and not entry.undone
            and entry.process.rpartition("/")[0] == here and not is_alive(entry.process)
        ]  # fmt: skip

    def last(self, *, undone: bool = False) -> Entry | None:
        """Return the newest entry that was not undone (or, with `undone`, whatever it is)."""
        for path in sorted(self._folder.glob("*.json"), reverse=True):
            entry = _read(path)
            if entry is not None and (undone or not entry.undone):
                return entry
        return None


class Turn:
    """The turn of one command: at a working tree and at a task, by locks that `take` and `leave`.

    Hooks of a push and all that goes over the network runs while nothing is held, so that nobody
    waits for it.
    """

    def __init__(self, folder: Path, names: Iterable[str], seconds: float) -> None:
        self._locks = [FileLock(folder / f"{_lock_name(name)}.lock") for name in names]
        self._folder = folder
        self._seconds = seconds

    def take(self) -> None:
        """Wait for the turn; `BusyError` where it does not come in time."""
        if not self._locks:
            return
        private_folder(self._folder)
        deadline = time.monotonic() + self._seconds
        try:
            for lock in self._locks:
                if not lock.is_locked:
                    lock.acquire(timeout=max(0.0, deadline - time.monotonic()))
        except Timeout:
            self.leave()
            raise BusyError(
                "Another ctx is at work in this folder or at this task.",
                reason="repository_locked",
                suggestions=["Wait for it, then run this again."],
            ) from None

    def leave(self) -> None:
        """Let others have their turn."""
        for lock in self._locks:
            lock.release()


def this_process() -> str:
    """Return what tells this process from every other one: machine, number, and when it began."""
    return _process(os.getpid())


def is_alive(process: str) -> bool:
    """Tell whether a process is alive; of another machine it cannot be known, and counts as not."""
    host, _, rest = process.rpartition("/")
    number = rest.partition(":")[0]
    return bool(host) and number.isdigit() and _process(int(number)) == process


def _process(number: int) -> str:
    """Name a process, "" where there is none of this number."""
    try:
        os.kill(number, 0)
    except (OSError, OverflowError):
        return ""
    try:
        told = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
        began = told.rpartition(")")[2].split()[19]
        space = Path(f"/proc/{number}/ns/pid").readlink()
    except (OSError, IndexError):  # a system without /proc
        began, space = "", Path()
    return f"{socket.gethostname()}{space}/{number}:{began}"


def _lock_name(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _read(path: Path) -> Entry | None:
    """Read an entry; a file that is none of ours is passed over."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        steps = [Step(**step) for step in data.pop("steps")]
        return Entry(path=path, steps=steps, **data)
    except (OSError, ValueError, TypeError, KeyError):
        return None
