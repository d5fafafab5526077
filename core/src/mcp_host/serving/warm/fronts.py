"""The fronts of the warm host: who connects is greeted, heard, and served to the end."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ...declarations.environment import session_environment
from ...errors import McpHostError
from ...startup.warm import wire
from ...startup.warm.world import is_same_world, peer_of
from . import logs
from .heartbeat import Heartbeat
from .hosts import CodeChangedError, OpenHosts
from .logs import WarmLog
from .session import WarmSession

MOST_AT_ONCE = 64
"""How many fronts are heard at once; they must not wait for packs that load, nor those for them."""
TALK = 10.0
"""Seconds in which a front must have sent its request."""
FOREIGN = "the host does not serve those of another world"


class Fronts:
    """Those who have connected, each in a task that serves it to its end.

    `_tasks` are the tasks, each with its session once it has one. A host that one session has for
    itself is closed `idle` seconds after that. `obey` does what a command asks,
    and `withdraw` lets no more fronts come: the code that a front was promised is no more.
    """

    def __init__(
        self,
        listening: socket.socket,
        hosts: OpenHosts,
        log: WarmLog,
        idle: float,
        obey: Callable[[str], dict[str, Any]],
        withdraw: Callable[[], None],
    ) -> None:
        self.heart = Heartbeat()
        self._listening = listening
        self._hosts = hosts
        self._log = log
        self._idle = idle
        self._obey = obey
        self._withdraw = withdraw
        self._tasks: dict[asyncio.Task[None], WarmSession | None] = {}
        self._threads = ThreadPoolExecutor(MOST_AT_ONCE, "front")

    def __bool__(self) -> bool:
        """Whether anybody is being served."""
        return bool(self._tasks)

    @property
    def sessions(self) -> list[WarmSession]:
        """The sessions that have begun."""
        return [session for session in self._tasks.values() if session is not None]

    async def move(self) -> None:
        """Have every session go on at another host, and wait until all have let go."""
        for session in self.sessions:
            session.move()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def accept(self) -> None:
        """Serve whoever has connected, in a task of its own."""
        try:
            peer, _ = self._listening.accept()
        except OSError:
            return  # it has gone, or too many descriptors are open
        task = asyncio.create_task(self._serve(peer))
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)

    async def _serve(self, peer: socket.socket) -> None:
        try:
            loop = asyncio.get_running_loop()
            asked = await loop.run_in_executor(self._threads, self._asked, peer)
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
        session = WarmSession(peer, request, descriptors)
        self._tasks[_this_task()] = session
        session_environment.set(request.environment)
        try:
            found = await self._hosts.of(request)
        except CodeChangedError:
            self._withdraw()
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
        rights = (
            socket.SOL_SOCKET,
            socket.SCM_RIGHTS,
            self.heart.descriptor.to_bytes(4, sys.byteorder),
        )
        peer.sendmsg([wire.HELLO], [rights])
        return wire.receive_request(peer)


def _this_task() -> asyncio.Task[None]:
    task = asyncio.current_task()
    assert task is not None
    return task
