"""A child's memory held by the kernel: a control group of its own, where the system lets us.

Both versions of control groups are tried: below the supervisor's own group, and for version 2
beside it as well, which is where a user's own session may make groups. Nothing here raises where
that cannot be.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from ...startup.dataclass import dataclass

ROOT = Path("/sys/fs/cgroup")
PREFIX = "mcp-host-"


@dataclass(frozen=True)
class MemoryGroup:
    """One group; `events` is the file that tells of ends for memory."""

    folder: Path
    events: Path

    def enter(self) -> None:
        """Put this process into the group, with all that it will start."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    @property
    def is_over(self) -> bool:
        """Whether the kernel has ended a process of the group for its memory."""
        with suppress(OSError, ValueError):
            for line in self.events.read_text("ascii").splitlines():
                key, _, count = line.partition(" ")
                if key == "oom_kill":
                    return int(count) > 0
        return False

    def remove(self) -> bool:
        """Remove the group, whose processes have ended; return whether it is gone."""
        try:
            self.folder.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True


def memory_group(number: int, limit: int) -> MemoryGroup | None:
    """Make a group that may use so many bytes; None where the system does not let us."""
    for parent in _parents():
        _tidy(parent)
        folder = parent / f"{PREFIX}{os.getpid()}-{number}"
        with suppress(OSError):
            folder.mkdir()
            group = _limited(folder, limit)
            if group is not None:
                return group
            folder.rmdir()
    return None


def _limited(folder: Path, limit: int) -> MemoryGroup | None:
    try:
        if (folder / "memory.max").exists():
            (folder / "memory.max").write_text(str(limit))
            for name, value in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
                with suppress(OSError):
                    (folder / name).write_text(value)
            return MemoryGroup(folder, folder / "memory.events")
        if (folder / "memory.limit_in_bytes").exists():
            (folder / "memory.limit_in_bytes").write_text(str(limit))
            with suppress(OSError):  # where swap is counted as well
                (folder / "memory.memsw.limit_in_bytes").write_text(str(limit))
            return MemoryGroup(folder, folder / "memory.oom_control")
    except OSError:
        return None
    return None


def _parents() -> list[Path]:
    """Return the groups in which one for a child could be made."""
    if sys.platform != "linux":
        return []
    found = []
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/cgroup").read_text("utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "memory":
                found.append(ROOT / "memory" / path.lstrip("/"))
            elif not controllers:
                own = ROOT / path.lstrip("/")
                found += [each for each in (own, own.parent) if _gives_memory(each)]
    return [each for each in found if os.access(each, os.W_OK)]


def _gives_memory(group: Path) -> bool:
    """Whether groups below one of version 2 may limit memory."""
    with suppress(OSError):
        is_below = ROOT in (group, *group.parents)
        given = (group / "cgroup.subtree_control").read_text("ascii").split()
        return is_below and "memory" in given
    return False


def _tidy(parent: Path) -> None:
    """Remove the groups of supervisors that were killed."""
    with suppress(OSError):
        for folder in parent.glob(f"{PREFIX}*-*"):
            process = folder.name.removeprefix(PREFIX).partition("-")[0]
            if process.isdecimal() and not Path("/proc", process).exists():
                with suppress(OSError):
                    folder.rmdir()
