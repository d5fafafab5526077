"""The process of the warm host: takes sessions from fronts, and leaves when nobody needs it."""

from __future__ import annotations

import asyncio
import json
import mmap
import os
import resource
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ...declarations.environment import session_environment
from ...errors import McpHostError
from ...runtime.collector import Collector
from ...runtime.watchdog import Watchdog
from ...startup import signals
from ...startup.version import VERSION
from ...startup.warm import wire
from ...startup.warm.hosts import BACKLOG
from ...startup.warm.place import Place
from ...startup.warm.world import is_same_world, peer_of
from .. import logs as all_logs
from ..reload.control import Control
from ..start import EXIT_OK, PATIENCE, SWITCH_INTERVAL
from . import logs
from .hosts import CodeChangedError, OpenHosts
from .logs import WarmLog
from .session import Session

BEAT = 0.5
"""Seconds between two beats of the loop, in memory that the fronts look at."""
IDLE = 600.0
"""Seconds without a session after which a host is closed, and the process leaves."""
LOOK = 5.0
"""Seconds between two looks at what is idle."""
MOST_AT_ONCE = 64
"""How many fronts are heard at once; they must not wait for packs that load, nor those for them."""
TALK = 10.0
"""Seconds in which a front must have sent its request."""
VARIABLE = "MCP_HOST_WARM_IDLE"
FOREIGN = "the host does not serve those of another world"


class WarmProcess:
    """One process, which has the lock of its `name` for as long as new sessions may come."""

    def __init__(self, place: str, name: str, lock: int, listening: int) -> None:
        self._place = Place.opened(place)
        self._name = name
        self._lock: int | None = lock
        self._listening = socket.socket(fileno=listening)
        for held in (lock, listening):  # else what a pack leaves behind would hold them
            os.set_inheritable(held, False)
        os.register_at_fork(after_in_child=self._after_fork)
        self._log = WarmLog(self._place, name)
        self._hosts = OpenHosts(self._log)
        self._control = Control(self._about, self._hosts.reload, self._hosts.hosts)
        self._sessions: dict[asyncio.Task[None], Session | None] = {}
        self._began = time.time()
        self._left_at = time.monotonic()
        self._idle = float(os.environ.get(VARIABLE, IDLE))
        self._leaving = asyncio.Event()
        self._fronts = ThreadPoolExecutor(MOST_AT_ONCE, "front")
        self._heart = os.memfd_create("mcp-host-heart")
        os.ftruncate(self._heart, mmap.PAGESIZE)
        self._beats = memoryview(mmap.mmap(self._heart, mmap.PAGESIZE)).cast("Q")

    async def run(self) -> None:
        """Take sessions until nobody needs the process any more."""
        self._log.install()
        _allow_descriptors()
        sys.setswitchinterval(SWITCH_INTERVAL)
        Collector().start()
        signals.on_reload()
        watchdog = self._watchdog()
        watchdog.watch()
        loop = asyncio.get_running_loop()
        self._listening.listen(BACKLOG)  # whoever connects from now on sees this process behind it
        if self._lock is not None:
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, str(os.getpid()).encode(), 0)
        self._listening.setblocking(False)
        loop.add_reader(self._listening, self._accept)
        self._beat()
        await self._control.open()
        looking = asyncio.create_task(self._look())
        await self._leaving.wait()
        looking.cancel()
        self._control.close()
        self.withdraw()
        watchdog.ending()
        for session in self._sessions.values():
            if session is not None:
                session.move()
        await asyncio.gather(*self._sessions, return_exceptions=True)
        await self._hosts.close()

    def withdraw(self) -> None:
        """Take no more sessions, and make room for another process; those that run go on."""
        if self._lock is None:
            return
        asyncio.get_running_loop().remove_reader(self._listening)
        self._place.remove(self._name)
        self._listening.close()
        os.close(self._lock)
        self._lock = None

    def _after_fork(self) -> None:
        """Let go, in a copy of this process, of what makes it the host."""
        if self._lock is not None:
            os.close(self._lock)
            os.close(self._listening.fileno())

    def _watchdog(self) -> Watchdog:
        return Watchdog(
            all_logs.descriptor(),
            stop=self._leaving.set,
            patience=3 * PATIENCE,
            code=EXIT_OK,
            modules=self._modules,
            reload=self._reload,
        )

    def _reload(self) -> None:
        """Have every host read its settings again; `_reloading` keeps the task alive."""
        self._reloading = asyncio.create_task(self._hosts.reload(None))

    def _about(self) -> list[dict[str, Any]]:
        """Tell of each host what `mcp-host doctor` compares with its settings file."""
        found = (each.reloading for each in self._hosts.all())
        return [reloading.about() for reloading in found if reloading is not None]

    def _modules(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for each in self._hosts.all():
            found.update(each.host.inventory.modules())
        return found

    def _beat(self) -> None:
        self._beats[0] = self._beats[0] + 1
        asyncio.get_running_loop().call_later(BEAT, self._beat)

    async def _look(self) -> None:
        """Leave when there is nothing to do, and tidy up meanwhile."""
        while True:
            await asyncio.sleep(min(LOOK, self._idle))
            self._log.rotate()
            await self._hosts.close_idle(self._idle)
            if self._sessions:
                self._left_at = time.monotonic()
            elif self._lock is None or time.monotonic() - self._left_at > self._idle:
                self._leaving.set()

    # -- fronts

    def _accept(self) -> None:
        try:
            peer, _ = self._listening.accept()
        except OSError:
            return  # it has gone, or too many descriptors are open
        task = asyncio.create_task(self._serve(peer))
        self._sessions[task] = None
        task.add_done_callback(self._sessions.pop)

    async def _serve(self, peer: socket.socket) -> None:
        try:
            loop = asyncio.get_running_loop()
            asked = await loop.run_in_executor(self._fronts, self._asked, peer)
        except (OSError, ValueError, TypeError) as error:
            logs.log.info("a front was not served: %s", error)
            peer.close()
            return
        if isinstance(asked, str):
            answer = json.dumps(self._obey(asked)).encode()
            with peer:
                await asyncio.to_thread(peer.sendall, answer)
            return
        request, descriptors = asked
        peer.setblocking(False)
        session = Session(peer, request, descriptors)
        self._sessions[_this_task()] = session
        session_environment.set(request.environment)
        try:
            found = await self._hosts.of(request)
        except CodeChangedError:
            self.withdraw()
            session.close(wire.MOVED)
            return
        except (McpHostError, OSError) as error:
            session.close(wire.REFUSED + str(error).encode("utf-8", "replace")[:4096])
            return
        except Exception:
            logs.log.exception("a session could not be served")
            session.close(wire.REFUSED + b"the host could not serve it; its log says why")
            return
        await session.run(found, self._log)
        if found.is_own:
            await self._hosts.close_idle(self._idle)

    def _asked(self, peer: socket.socket) -> tuple[wire.Request, list[int]] | str:
        """Greet whoever has connected, when that may be trusted, and hear what it wants."""
        peer.settimeout(TALK)
        process, user = peer_of(peer)
        if user != os.getuid() or not is_same_world(process):
            peer.sendall(wire.REFUSED + FOREIGN.encode())
            raise PermissionError(FOREIGN)
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, self._heart.to_bytes(4, sys.byteorder))
        peer.sendmsg([wire.HELLO], [rights])
        return wire.receive_request(peer)

    def _obey(self, question: str) -> dict[str, Any]:
        """Do what a command asks: `status`, `stop` or `restart`; tell how things were before."""
        sessions = [session.about() for session in self._sessions.values() if session is not None]
        status = {
            "name": self._name,
            "process": os.getpid(),
            "version": VERSION,
            "began": self._began,
            "hosts": [found.about() for found in self._hosts.all()],
            "sessions": sessions,
        }
        if question != "status":
            self.withdraw()
        if question == "restart":
            self._leaving.set()
        return status


def _this_task() -> asyncio.Task[None]:
    task = asyncio.current_task()
    assert task is not None
    return task


def _allow_descriptors() -> None:
    """Allow as many open files as the system would: each session has about seven."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
