"""The flight record: what packs were doing in this process, readable after its death.

A small file that is mapped into memory says at any moment which pack is at what: the kernel keeps
it however the process ends. A clean end removes it; what is found of a process that is no more
tells how it ended, and at what. Nothing here raises where the files cannot be written: then nothing
is recorded.
"""

from __future__ import annotations

import atexit
import errno
import faulthandler
import json
import mmap
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ..startup import digests, folders
from ..startup.dataclass import dataclass
from ..startup.descriptors import private
from ..startup.flight_record import HEAD, LENGTH, SLOTS, WIDTH, works
from .threads import ENTRY

if TYPE_CHECKING:
    from ..settings.loading import Settings

FOLDER = "flights"
RECORD, STACKS = ".flight", ".stacks"
NOWHERE = -1
OLD = 7 * 86400
"""Seconds after which a record is removed that cannot be judged, as of another container."""
MOST_STACK = 4096
FATAL = {
    "Segmentation fault": "SIGSEGV",
    "Aborted": "SIGABRT",
    "Bus error": "SIGBUS",
    "Floating point exception": "SIGFPE",
    "Floating-point exception": "SIGFPE",
    "Illegal instruction": "SIGILL",
}
"""What `faulthandler` calls the signals that end a process."""


@dataclass(frozen=True)
class Work:
    """What a pack was doing: a phase in words, such as "importing x", and a call's tool and id."""

    pack: str
    phase: str
    tool: str = ""
    request_id: str = ""


@dataclass(frozen=True)
class End:
    """How a process ended without having said goodbye.

    `how` is in words for people, such as "signal 11 (SIGSEGV)". `works` are what its end is laid
    to: the pack whose thread it came from where that is known, else all that was at work. `began`
    is when the process began, by the clock, and `settings` what it was told of its settings then;
    `stack` is where its thread stood, where that is known.
    """

    how: str
    works: tuple[Work, ...]
    began: float
    settings: str = ""
    stack: str = ""


class Flight:
    """The record of this process, from `begin` to `end`; every method may be called in any thread.

    `owner` is a short word for whose processes belong together: a later one of the same owner reads
    how this one ended. `settings` is a word for the settings that it has.
    """

    def __init__(self, owner: str, settings: str = "") -> None:
        self.owner = owner
        self._settings = settings
        self._process = os.getpid()
        self._path: Path | None = None
        self._map: mmap.mmap | None = None
        self._free = list(range(SLOTS))
        self._beginning = threading.Lock()
        self._is_over = threading.Lock()
        self._exit = os._exit
        self._stacks = NOWHERE

    def begin(self) -> None:
        """Record from now on, also how the process ends by a fatal signal or by `os._exit`.

        Whoever begins it a second time finds it begun, also while another thread does.
        """
        if sys.platform == "win32":
            return
        with self._beginning:
            if self._map is None:
                self._begin()

    def _begin(self) -> None:
        name = f"{self.owner}-{self._process}-{_born(self._process)}"
        path = Path(folders.cache(), FOLDER, name + RECORD)
        about = {"began": time.time(), "place": _place(), "settings": self._settings}
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._map = _mapped(path, json.dumps(about).encode())
            self._path = path
            if not faulthandler.is_enabled():  # else the user wants the stacks elsewhere
                low = os.open(
                    path.with_suffix(STACKS), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600
                )
                self._stacks = private(low)
                os.close(low)
                faulthandler.enable(self._stacks)
        except OSError:
            return
        os._exit = self._noted_exit
        atexit.register(self.end)

    def opened(self) -> int | None:
        """Return a descriptor to read the record from, also when it is removed; None without."""
        if self._path is None:
            return None
        try:
            return os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None

    def start(self, pack: str, phase: str, tool: str = "", request_id: str = "") -> int:
        """Note what a pack begins to do; return the number by which `stop` knows it."""
        if self._map is None:
            return NOWHERE
        try:
            slot = self._free.pop()
        except IndexError:
            return NOWHERE
        text = f"{pack}\n{phase}\n{tool}\n{request_id}".encode("utf-8", "replace")[: WIDTH - 2]
        at = (slot + 1) * WIDTH
        self._map[at : at + 2 + len(text)] = len(text).to_bytes(2, "big") + text
        return slot

    def stop(self, slot: int) -> None:
        """Note that something which was begun has ended."""
        if slot != NOWHERE and self._map is not None:
            self._map[(slot + 1) * WIDTH : (slot + 1) * WIDTH + 2] = b"\0\0"
            self._free.append(slot)

    @contextmanager
    def during(self, pack: str, phase: str, tool: str = "", request_id: str = "") -> Iterator[None]:
        """Note what a pack does meanwhile."""
        slot = self.start(pack, phase, tool, request_id)
        try:
            yield
        finally:
            self.stop(slot)

    def end(self) -> None:
        """Remove the record: the process ends as it should."""
        if self._path is None or os.getpid() != self._process or not self._is_over.acquire(False):
            return
        if self._stacks != NOWHERE:
            with suppress(OSError, RuntimeError, ValueError):
                faulthandler.enable(2)
        if os._exit == self._noted_exit:
            os._exit = self._exit
        _remove(self._path)

    def _noted_exit(self, status: int) -> NoReturn:
        """End the process at once, as `os._exit`: what is not the host's own doing is noted."""
        if os.getpid() == self._process:
            caller = sys._getframe(1)
            if str(caller.f_globals.get("__name__")).startswith("mcp_host."):
                self.end()
            elif self._map is not None:
                found = json.dumps({"code": status, "pack": _pack_of_this_thread()})
                self._map[HEAD:WIDTH] = found.encode()[: WIDTH - HEAD].ljust(WIDTH - HEAD)
        self._exit(status)


class NoFlight(Flight):
    """A record that nobody keeps."""

    def __init__(self) -> None:
        super().__init__("")

    def begin(self) -> None:
        """Record nothing."""


def owner(settings: Settings, alone: str | None = None) -> str:
    """Return the word by which the processes of one server know each other's records."""
    text = json.dumps([str(settings.source), str(settings.folder), alone, sys.prefix])
    return digests.sha256(text.encode()).hexdigest()[:24]


def settings_word(settings: Settings) -> str:
    """Return a word for what the settings say now."""
    if settings.source is None:
        return ""
    with suppress(OSError):
        return digests.sha256(settings.source.read_bytes()).hexdigest()[:24]
    return "unreadable"


def leaves_traces(owner: str) -> bool:
    """Return whether anything is kept of processes of an owner, that live or are no more."""
    folder = Path(folders.cache(), FOLDER)
    return folder.is_dir() and any(folder.glob(f"{owner}*"))


def ends(owner: str) -> list[End]:
    """Return how processes of an owner ended that did not end well, oldest first, each once."""
    found, here = [], _place()
    for path in Path(folders.cache(), FOLDER).glob("*" + RECORD):
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            about, left = _read(path)
            if about["place"] == here:
                if path.name.startswith(f"{owner}-") and not _is_alive(path.stem):
                    found.append(_end(about, left, _stack(path.with_suffix(STACKS))))
                    _remove(path)
                continue
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > OLD:
                _remove(path)
    return sorted(found, key=lambda end: end.began)


def _mapped(path: Path, head: bytes) -> mmap.mmap:
    """Map a new file, of which every byte is written first: a hole that a full disk cannot fill
    ends the process that writes to it. Raises `OSError`, and then leaves no file.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        if os.write(file, head.ljust(LENGTH, b"\0")) < LENGTH:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return mmap.mmap(file, LENGTH)
    except OSError:
        _remove(path)
        raise
    finally:
        os.close(file)


def _read(path: Path) -> tuple[dict[str, Any], list[Work]]:
    data = path.read_bytes()
    about = json.loads(data[:HEAD].rstrip(b"\0"))
    if leaving := data[HEAD:WIDTH].strip(b"\0 "):
        about["exit"] = json.loads(leaving)
    return about, [Work(*parts) for parts in works(data)]


def _stack(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")[: 64 * 1024]
    except OSError:
        return ""


def _end(about: Mapping[str, Any], left: list[Work], stack: str) -> End:
    leaving = about.get("exit")
    fatal = re.match(r"Fatal Python error: ([^\n]*)", stack)
    guilty, thread = "", ""
    if fatal is not None:
        name = FATAL.get(fatal[1].strip(), "")
        number = getattr(signal, name, None)
        how = f"signal {int(number)} ({name})" if number is not None else fatal[1].strip()[:200]
        thread = _current_thread(stack)
        named = re.search(rf" in {ENTRY}(\w+)", thread)
        guilty = named[1] if named else ""
    elif leaving is not None:
        how, guilty = f"os._exit({int(leaving['code'])})", str(leaving["pack"])
    else:
        how = "ended without a word, as by SIGKILL"
    works = tuple(work for work in left if not guilty or work.pack == guilty)
    if guilty and not works:
        works = (Work(guilty, "running by itself"),)
    began, settings = float(about["began"]), str(about["settings"])
    return End(how, works, began, settings, thread[:MOST_STACK])


def _current_thread(stack: str) -> str:
    """Return the part of what `faulthandler` wrote that shows the thread which was hit."""
    parts = stack.split("\n\n")
    return next((part for part in parts if part.startswith("Current thread")), "")


def _pack_of_this_thread() -> str:
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name.startswith(ENTRY):
            return frame.f_code.co_name.removeprefix(ENTRY)
        frame = frame.f_back  # type: ignore[assignment]  # None ends it
    return ""


def _is_alive(name: str) -> bool:
    """Whether the process that a record is named after lives."""
    process, born = name.rsplit("-", 2)[1:]
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return _born(int(process)) == born


def _born(process: int) -> str:
    """Return a word for when a process began, so that its number is not taken for another's."""
    try:
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return "0"
    return "dead" if fields[0] == b"Z" else fields[19].decode("ascii")


def _place() -> str:
    """Return a word for where process numbers mean the same: this boot, and this container."""
    parts = []
    with suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii")[:8])
    return "-".join(parts)


def _remove(path: Path) -> None:
    for each in (path.with_suffix(STACKS), path):
        with suppress(OSError):
            each.unlink()
