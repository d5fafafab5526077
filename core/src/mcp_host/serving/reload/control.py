"""A socket by which the same user's commands ask a running host; not on Windows.

A host that runs is found by connecting to its socket: who answers is who bound it, whatever number
its process has. A socket that nobody listens at is of a host that was killed, and is removed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...host import Host
from ...startup import folders
from ...startup.version import VERSION
from ..live.answers import follow, lists
from .peers import address, process_of, user_of

if TYPE_CHECKING:
    from ...startup.warm.place import Place

log = logging.getLogger("mcp_host.server")

FOLDER = "running"
SUFFIX = ".sock"
LONGEST = 65536
ANSWERED, RELOADED = 5.0, 300.0
"""Seconds in which a host must have told how it is, and must have reloaded."""


class Control:
    """What a process that serves answers to commands of its own user.

    `about` tells of each host that it has open, `reload` has those of a settings file read it
    again and load the packs anew that are named, and `hosts` are those of a settings file; all,
    where none is named.
    """

    def __init__(
        self,
        about: Callable[[], list[dict[str, Any]]],
        reload: Callable[[str | None, Collection[str]], Awaitable[list[dict[str, Any]]]],
        hosts: Callable[[str | None], list[Host]],
    ) -> None:
        self._about = about
        self._reload = reload
        self._hosts = hosts
        self._began = time.time()
        self._name = f"{os.getpid()}-{time.time_ns():x}{SUFFIX}"
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen; a host that cannot serves all the same, and says why."""
        if sys.platform == "win32":
            return
        from ...startup.warm.place import Place, PlaceError

        try:
            place = Place.opened(folder())
        except PlaceError as error:
            log.info("commands cannot reach this host: %s", error)
            return
        listening: socket.socket | None = None
        try:
            listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listening.bind(address(place, self._name))
            self._server = await asyncio.start_unix_server(
                self._answer, sock=listening, limit=LONGEST
            )
        except OSError as error:
            if listening is not None:
                listening.close()
            log.info("commands cannot reach this host: %s", error)
        finally:
            place.close()

    def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            with suppress(OSError):
                os.unlink(os.path.join(folder(), self._name))  # noqa: PTH108, PTH118
            self._server.close()
            self._server = None

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if user_of(writer.get_extra_info("socket")) != os.getuid():
                return
            question = json.loads(await asyncio.wait_for(reader.readline(), ANSWERED))
            settings = question["settings"]
            if question["do"] == "follow":
                values = bool(question["values"])
                await follow(self._hosts(settings), reader, writer, values=values)
                return
            if question["do"] == "lists":
                hosts = [lists(host) for host in self._hosts(settings)]
            elif question["do"] in ("reload", "replace"):
                hosts = await self._reload(settings, question.get("packs", ()))
            else:
                hosts = self._about()
            answer: dict[str, Any] = {
                "process": os.getpid(),
                "version": VERSION,
                "began": self._began,
                "hosts": hosts,
            }
            writer.write(json.dumps(answer, default=str).encode() + b"\n")
            await writer.drain()
        except (OSError, ValueError, TypeError, KeyError, TimeoutError) as error:
            log.debug("a command was not answered: %s", error)
        finally:
            writer.close()


def ask(what: str, settings: str | None = None) -> list[dict[str, Any]]:
    """Ask every process of this user that serves: `status` or `reload`; return what each tells.

    Only the hosts of a settings file reload, where one is named.

    One that does not answer in time has a `problem` in place of its `hosts`.
    """
    told = [_asked(*each, {"do": what, "settings": settings}) for each in _sockets()]
    return [one for one in told if one]


def asked_of(process: int, question: dict[str, Any]) -> dict[str, Any] | None:
    """Ask one process; None where it has ended."""
    peer = connected(process)
    if peer is None:
        return None
    return _answer(peer, process, question)


def connected(process: int) -> socket.socket | None:
    """Return a connection to the socket of a process that serves; None where there is none."""
    for place, name in _sockets():
        if name.startswith(f"{process}-"):
            with suppress(OSError):
                return _connection(place, name)
    return None


def folder() -> str:
    """Where the sockets of running hosts are."""
    return os.path.join(folders.cache(), FOLDER)  # noqa: PTH118


def _sockets() -> Iterator[tuple[Place, str]]:
    """Give the sockets of the hosts that run, each with the place that it is in."""
    if sys.platform == "win32" or not os.path.isdir(folder()):  # noqa: PTH112
        return
    from ...startup.warm.place import Place

    place = Place.opened(folder())
    try:
        for name in place.names():
            if name.endswith(SUFFIX):
                yield place, name
    finally:
        place.close()


def _connection(place: Place, name: str) -> socket.socket:
    """Return a connection to a socket; `OSError` where nobody listens."""
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    peer.settimeout(ANSWERED)
    try:
        peer.connect(address(place, name))
    except OSError:
        peer.close()
        raise
    return peer


def _asked(place: Place, name: str, question: dict[str, Any]) -> dict[str, Any] | None:
    try:
        peer = _connection(place, name)
    except (ConnectionRefusedError, FileNotFoundError):
        place.remove(name)
        return None
    except OSError as error:
        return {"process": int(name.partition("-")[0]), "problem": str(error)}
    return _answer(peer, process_of(peer, name), question)


def _answer(peer: socket.socket, process: int, question: dict[str, Any]) -> dict[str, Any]:
    peer.settimeout(RELOADED if question["do"] in ("reload", "replace") else ANSWERED)
    try:
        with peer:
            peer.sendall(json.dumps(question).encode() + b"\n")
            with peer.makefile("rb") as answer:
                told: dict[str, Any] = json.loads(answer.readline())
    except (OSError, ValueError) as error:
        return {"process": process, "problem": f"it does not answer: {error or 'it ended'}"}
    return told
