"""The journal: what each command did, step by step, with the refs before and after.

It is never believed: every command looks at git and the server first. It tells what was pending,
and it is what `ctx undo` reads.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from mcp_host_cortex_tasks.errors import Busy
from mcp_host_cortex_tasks.storage.files import private_folder, replace_text

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
    facts: dict[str, str | None] = field(default_factory=dict)

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
        return Entry(path, command, task_id, now / 1e9, branch)

    def keep(self, entry: Entry) -> None:
        """Write an entry as it is now, and forget the oldest ones."""
        private_folder(self._folder)
        data = asdict(entry)
        del data["path"]
        replace_text(entry.path, json.dumps(data, indent=1))
        for old in sorted(self._folder.glob("*.json"))[:-KEEP]:
            old.unlink(missing_ok=True)

    def forget(self, entry: Entry) -> None:
        """Drop the entry of a command that changed nothing."""
        entry.path.unlink(missing_ok=True)

    def last(self, *, undone: bool = False) -> Entry | None:
        """Return the newest entry that was not undone (or, with `undone`, whatever it is)."""
        for path in sorted(self._folder.glob("*.json"), reverse=True):
            entry = _read(path)
            if entry is not None and (undone or not entry.undone):
                return entry
        return None


@contextmanager
def only_one(folder: Path, seconds: float) -> Iterator[None]:
    """Hold the repository against another `ctx` that changes it; wait for it so long."""
    from filelock import FileLock, Timeout

    private_folder(folder)
    try:
        with FileLock(folder / "lock", timeout=seconds):
            yield
    except Timeout:
        raise Busy(
            "Another ctx is at work in this repository.",
            reason="repository_locked",
            suggestions=["Wait for it, then run this again."],
        ) from None


def _read(path: Path) -> Entry | None:
    """Read an entry; a file that is none of ours is passed over."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        steps = [Step(**step) for step in data.pop("steps")]
        return Entry(path=path, steps=steps, **data)
    except (OSError, ValueError, TypeError, KeyError):
        return None
