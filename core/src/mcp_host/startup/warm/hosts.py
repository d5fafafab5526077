"""The one host of a key: how it is found, started where there is none, and watched."""

from __future__ import annotations

import _socket
import mmap
import os
import select
import sys
import time

from .. import signals
from ..digests import sha256
from ..json_text import dumps, loads
from ..saved import FILES
from .place import HostGoneError, Place, PlaceError
from .wire import CLOSED_IN_PROGRAMS, HELLO, REFUSED, ask, close_all, rights, sender
from .world import is_same_world, peer_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from ..saved import Saved

HEEDED = (
    "HOME", "USER", "LOGNAME", "TZ", "TMPDIR", "TEMP", "TMP", "LANG", "LANGUAGE",
    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
    "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
"""Variables that the host itself heeds, or the libraries beneath it."""
BEGINNINGS = (
    "PYTHON", "LC_", "LD_", "MALLOC_", "OPENSSL_", "GLIBC_", "MCP_HOST_", "COVERAGE_", "OTEL_",
)  # fmt: skip
"""How further such variables begin."""
OWN = ("MCP_HOST_WARM", "MCP_HOST_CONFIG")
"""Those that are the front's: what they say goes to the host with each session."""
BACKLOG = 512
NAME_LENGTH = 24
RETRIES, PAUSE = 1000, 0.005
"""How often a front looks for a socket that somebody is about to make, and the seconds between.

On a busy machine the one who makes it may have to wait long for a processor.
"""
PATIENCE = 30.0
"""Seconds in which a host that was just started must say that it is there."""
SILENCE = 10.0
"""Seconds in which one that was there already must do so."""
GREETING = 1024
"""Bytes of what the kernel tells beside a greeting."""
LOOK, LOOKS = 1.25, 4
"""Seconds between two looks at a host's heartbeat, and how many may find it standing still."""
SYSTEMD_RUN = ("systemd-run", "--user", "--scope", "--quiet", "--collect", "--")


def heeded(saved: Saved, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that all sessions of one host must have in common."""
    depends = saved.dependencies
    names = {*HEEDED, *depends.variables, *depends.secret_variables}
    return {
        name: value
        for name, value in environment.items()
        if (name in names or name.startswith(BEGINNINGS)) and name not in OWN
    }


def name_of(place: Place, saved: Saved, environment: Mapping[str, str]) -> str:
    """The name of the host that a session belongs to: equal for all that may share one."""
    mask = os.umask(0o077)
    os.umask(mask)
    parts = [
        sys.executable,
        list(sys.flags),
        {name: part for name, part in saved.fingerprint.items() if name in CODE},
        mask,
        saved.sends,
        _limits(),
        sorted(heeded(saved, environment).items()),
    ]
    salted = sha256(place.salt() + dumps(parts).encode("utf-8", "surrogatepass"))
    return salted.hexdigest()[:NAME_LENGTH]


def _limits() -> list[Any]:
    """What limits this process, and all that it starts: a session must not escape from that."""
    with open("/proc/self/limits", encoding="ascii") as file:
        limits = file.read()
    return [limits, os.nice(0), sorted(os.sched_getaffinity(0))]


CODE = ("host and Python versions", "Python path", FILES)
"""The parts of a saved catalogue's fingerprint that tell which code is loaded."""


def connected(place: Place, name: str, saved: Saved) -> _socket.socket | None:
    """Connect to the host of a name, which is started where there is none; None where that fails.

    Whoever gets the lock is the only one that starts it. The socket is there from then on, so all
    others can wait at it.
    """
    for _ in range(RETRIES):
        peer = _connected(place, name)
        if peer is not None:
            return peer
        lock = place.locked(name)
        if lock is not None:
            try:
                _start(place, name, lock, saved)
            finally:
                os.close(lock)
            return _connected(place, name)
        time.sleep(PAUSE)  # somebody else is about to make the socket
    return None


def process_behind(place: Place, name: str, peer: _socket.socket) -> int | None:
    """The process of the host at the other end, by a descriptor; None where it only begins.

    A host writes its number into the file of its lock once it listens, and the kernel tells who has
    made the socket listen.
    """
    number, user = peer_of(peer)
    try:
        with os.fdopen(place.open(f"{name}.lock", os.O_RDONLY)) as file:
            if file.read() != str(number) or user != os.getuid():
                return None
        return os.pidfd_open(number)
    except OSError:
        return None


def _connected(place: Place, name: str) -> _socket.socket | None:
    peer = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    try:
        peer.setsockopt(_socket.SOL_SOCKET, _socket.SO_PASSCRED, 1)
        peer.connect(place.address(name))
    except (FileNotFoundError, ConnectionRefusedError):
        peer.close()
        return None
    except OSError:
        peer.close()
        raise
    return peer


def _start(place: Place, name: str, lock: int, saved: Saved) -> None:
    """Start the host, apart from this session in all that a process inherits."""
    listening = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    place.remove(name)  # of a host that is no more: whoever has the lock is the only one
    listening.bind(place.address(name))
    listening.listen(BACKLOG)
    log = place.open(f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDWR)
    environment = {**_usual(), **heeded(saved, os.environ)}
    command = [
        *_apart_from_the_terminal(),
        sys.executable, "-P", "-m", "mcp_host.serving.warm",
        place.path, name, dumps(sys.path),
    ]  # fmt: skip
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            if os.fork():
                os._exit(0)
            os.chdir("/")
            _hold((nothing, nothing, log, lock, listening.fileno()))
            os.execve(command[0], command, environment)  # noqa: S606 - no shell is wanted
        finally:
            os._exit(1)
    os.waitpid(child, 0)
    listening.close()
    os.close(log)
    os.close(nothing)


def _usual() -> dict[str, str]:
    """Variables that every program should have: of the session that happens to be first."""
    names = ("PATH", "SHELL", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
    return {name: os.environ[name] for name in names if name in os.environ}


def _hold(descriptors: Iterable[int]) -> None:
    """Have these descriptors under the numbers from 0 on, and no other one."""
    high = [_above(descriptor) for descriptor in descriptors]
    for number, descriptor in enumerate(high):
        os.dup2(descriptor, number)
    os.closerange(len(high), os.sysconf("SC_OPEN_MAX"))


def _above(descriptor: int) -> int:
    import fcntl

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD, 64)


def _apart_from_the_terminal() -> tuple[str, ...]:
    """A command in front of another, where the user's own systemd can have the host.

    There it is not ended with the terminal or the login that it was started from.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if not runtime or not os.path.exists(os.path.join(runtime, "systemd", "private")):
        return ()
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        program = os.path.join(folder, SYSTEMD_RUN[0])
        if os.path.isabs(program) and os.access(program, os.X_OK):
            return (program, *SYSTEMD_RUN[1:])
    return ()


def running(place: Place) -> list[str]:
    """The names of the hosts that have a socket here."""
    return [name for name in place.names() if len(name) == NAME_LENGTH and "." not in name]


def asked(place: Place, name: str, question: str) -> dict[str, Any] | None:
    """What a host answers to a command's question; None where there is no such host.

    Raises `PlaceError` where it lives in another world, or says nothing that can be understood.
    """
    peer = _connected(place, name)
    if peer is None:
        return None
    try:
        peer.settimeout(PATIENCE)
        _, process = greeted(peer)
        os.close(process)
        ask(peer, question)
        data = b""
        while piece := peer.recv(1 << 16):
            data += piece
        answer = loads(data)
    except (ConnectionError, HostGoneError):
        return None  # it has ended just now
    except (OSError, ValueError) as error:
        raise PlaceError(f"the host {name} does not answer: {error}") from None
    finally:
        peer.close()
    return dict(answer)


def greeted(peer: _socket.socket) -> tuple[int, int]:
    """Hear a host's greeting; its heartbeat and its process, as descriptors.

    Raises `PlaceError` where whoever answers must not be trusted.
    """
    data, ancillary, _, _ = peer.recvmsg(1, GREETING, CLOSED_IN_PROGRAMS)
    received = rights(ancillary)
    told = sender(ancillary)
    if data == REFUSED:
        close_all(received)
        raise PlaceError(peer.recv(GREETING).decode("utf-8", "replace"))
    if not data:
        raise HostGoneError("the host has ended before it was there")
    if data != HELLO or told is None or len(received) != 1:
        close_all(received)
        raise PlaceError("what answers at the socket is no host")
    number, user = told
    try:
        process = os.pidfd_open(number)
    except OSError as error:
        close_all(received)
        raise PlaceError(f"the host cannot be looked at: {error}") from None
    if user != os.getuid() or not is_same_world(number) or has_ended(process):
        close_all([*received, process])
        raise PlaceError("what answers at the socket lives in another world")
    return received[0], process


def has_ended(process: int) -> bool:
    """Whether a process, by its descriptor, is no more."""
    wait = select.poll()
    wait.register(process, select.POLLIN)
    return bool(wait.poll(0))


def end(process: int) -> None:
    """End a host that does not move, by a descriptor, and wait until it is no more."""
    wait = select.poll()
    wait.register(process, select.POLLIN)
    if not wait.poll(1000):  # it closes its sockets a moment before it has ended
        try:
            signals.kill(process)
        except ProcessLookupError:
            return
        wait.poll()


class HostLost(Exception):
    """The host is no more, or does not move."""


class GreetedHost:
    """A host that has greeted: its socket, its process by a descriptor, and its heartbeat.

    The descriptor of the heartbeat is closed here, the other two by whoever has them. `look` is
    called at each look at the heartbeat.
    """

    def __init__(
        self, peer: _socket.socket, process: int, heart: int, look: Callable[[], None]
    ) -> None:
        self.peer = peer
        self.process = process
        self._look = look
        try:
            self._heart = mmap.mmap(heart, mmap.PAGESIZE, prot=mmap.PROT_READ)
        finally:
            os.close(heart)

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the host says something; `HostLost` where it has ended, or does not move.

        `TimeoutError` where it says nothing for so many seconds, although it moves.
        """
        began = time.monotonic()
        beat, still = b"", 0
        wait = select.poll()
        wait.register(self.peer, select.POLLIN)
        wait.register(self.process, select.POLLIN)
        while True:
            ready = dict(wait.poll(LOOK * 1000))
            if self.peer.fileno() in ready:
                return
            if self.process in ready:
                raise HostLost
            self._look()
            if not ready:
                still = still + 1 if self._heart[:8] == beat else 0
                beat = self._heart[:8]
                if still >= LOOKS:
                    raise HostLost
            if seconds is not None and time.monotonic() - began > seconds:
                raise TimeoutError

    def heard(self, length: int) -> bytes:
        """Hear so many bytes; `ConnectionError` where the host has gone before."""
        data = b""
        while len(data) < length:
            more = self.peer.recv(length - len(data))
            if not more:
                raise ConnectionError("the host has gone")
            data += more
        return data

    def end(self) -> None:
        """As the function `end`."""
        end(self.process)
