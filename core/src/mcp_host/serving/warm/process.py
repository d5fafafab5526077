"""The process of the warm host: takes sessions from fronts, and leaves when nobody needs it."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import sys
import time
from typing import Any

from ...runtime.collector import Collector
from ...runtime.watchdog import Watchdog
from ...startup import signals
from ...startup.version import VERSION
from ...startup.warm.hosts import BACKLOG
from ...startup.warm.place import Place
from .. import logs as all_logs
from ..reload.control import Control
from ..serving import EXIT_OK, PATIENCE, SWITCH_INTERVAL
from .fronts import Fronts
from .hosts import OpenHosts
from .logs import WarmLog

IDLE = 600.0
"""Seconds without a session after which a host is closed, and the process leaves."""
LOOK = 5.0
"""Seconds between two looks at what is idle."""
VARIABLE = "MCP_HOST_WARM_IDLE"


class WarmProcess:
    """One process that serves sessions, until nobody needs it.

    Invariants:

    - `_lock` is the lock of its `name`, and `_listening` where fronts connect, for as long as new
      sessions may come; from `withdraw` on, `_lock` is None, `_listening` closed, and another
      process may have the name. Copies of the process hold neither.
    - `_left_at` is when somebody was served last, as far as the last look tells.
    - `_leaving` is set once; then nothing more begins, and those that are served go elsewhere.
    """

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
        self._idle = float(os.environ.get(VARIABLE, IDLE))
        self._fronts = Fronts(
            self._listening, self._hosts, self._log, self._idle, self._obey, self.withdraw
        )
        self._began = time.time()
        self._left_at = time.monotonic()
        self._leaving = asyncio.Event()

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
        loop.add_reader(self._listening, self._fronts.accept)
        self._fronts.heart.beat()
        await self._control.open()
        looking = asyncio.create_task(self._look())
        await self._leaving.wait()
        looking.cancel()
        self._control.close()
        self.withdraw()
        watchdog.ending()
        await self._fronts.move()
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

    async def _look(self) -> None:
        """Leave when there is nothing to do, and tidy up meanwhile."""
        while True:
            await asyncio.sleep(min(LOOK, self._idle))
            self._log.rotate()
            await self._hosts.close_idle(self._idle)
            if self._fronts:
                self._left_at = time.monotonic()
            elif self._lock is None or time.monotonic() - self._left_at > self._idle:
                self._leaving.set()

    def _obey(self, question: str) -> dict[str, Any]:
        """Do what a command asks: `status`, `stop` or `restart`; tell how things were before."""
        status = {
            "name": self._name,
            "process": os.getpid(),
            "version": VERSION,
            "began": self._began,
            "hosts": [found.about() for found in self._hosts.all()],
            "sessions": [session.about() for session in self._fronts.sessions],
        }
        if question != "status":
            self.withdraw()
        if question == "restart":
            self._leaving.set()
        return status


def _allow_descriptors() -> None:
    """Allow as many open files as the system would: each session has about seven."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
