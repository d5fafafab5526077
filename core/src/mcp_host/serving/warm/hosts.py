"""The open hosts of the process: one for each settings and root, shared by their sessions."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import time
from collections.abc import Callable, Collection
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from ...declarations.context import Caller
from ...errors import McpHostError
from ...host import Host
from ...packs.dependencies import apart
from ...packs.flight import Flight
from ...packs.importing import take_turns
from ...packs.inventory import Inventory, RequiredPackError
from ...settings.loading import Settings
from ...startup.catalogue import Catalogue
from ...startup.options import Options
from ...startup.protocol import LISTS
from ...startup.saved import FILES, ServerIdentity, look
from ...startup.warm.wire import Request
from ..reload.reloading import Reloading, states
from ..serving import Serving
from .logs import WarmLog

OF_SESSION = {"log_level": None, "log_format": None}
"""Options that are a session's own, and none of its host's."""


class CodeChangedError(McpHostError):
    """Code was loaded that is not what this process is to serve; the message says so."""


class NotToBeSharedError(McpHostError):
    """A pack says that sessions must not share it; the message names it."""


class HostKey(NamedTuple):
    """What sessions of one host have in common.

    `session` is 0, but for one that shares some packs with no other: it has a host of its own.
    """

    server: str
    source: str | None
    content: str
    root: str
    options: tuple[tuple[str, Any], ...]
    session: int


class OpenHost:
    """One open host, and how many sessions it has.

    Invariants:

    - `sessions` are those that run; one that the host was opened for may be still to come.
    - `left_at` is when the last one ended, and `was_left` says that one has; before, it is when
      the host was opened.
    - `is_own` is set at once after that, where one session has the host for itself.
    """

    def __init__(self, what: Serving, host: Host, root: str) -> None:
        self.what = what
        self.root = root
        self.host = host
        self.sessions = 0
        self.left_at = time.monotonic()
        self.was_left = False
        self.version = what.version()
        self.is_own = False
        self.reloading: Reloading | None = None
        self.watching: asyncio.Task[None] | None = None
        self.secret_files = states(host.settings.secrets.files)

    def about(self) -> dict[str, Any]:
        """Return what `mcp-host warm status` tells of it."""
        source = self.host.settings.source
        return {
            "program": self.what.name,
            "settings": None if source is None else str(source),
            "root": self.root,
            "sessions": self.sessions,
            "packs": {name: pack.condition.state for name, pack in self.host.packs.items()},
        }

    def leave(self) -> None:
        """Note that one of its sessions has ended."""
        self.sessions -= 1
        self.left_at = time.monotonic()
        self.was_left = True

    def is_idle(self, since: float, *, at_once: bool) -> bool:
        """Whether no session has had it since a time, or `at_once` where the last one has ended."""
        return self.sessions == 0 and (self.left_at < since or (at_once and self.was_left))

    async def close(self) -> None:
        """Close the host."""
        if self.watching is not None:
            self.watching.cancel()
        await self.host.close()

    def catalogue(self) -> Catalogue:
        """What the host shows first, now."""
        inventory, what = self.host.inventory, self.what
        pages = {str(name): inventory.lists.page(name, None, Caller()) for name in LISTS.values()}
        return Catalogue(
            what.name,
            self.version,
            what.title,
            self.host.instructions,
            pages,
            inventory.may_change,
            inventory.extensions,
        )

    @property
    def is_current(self) -> bool:
        """Whether a new session may have it: nothing has failed for good, no secret is another."""
        return self.host.fatal is None and self.secret_files == states(self.secret_files)


class OpenHosts:
    """Opens hosts, and closes them when they were idle for long."""

    def __init__(self, log: WarmLog) -> None:
        self._log = log
        self._open: dict[HostKey, asyncio.Task[OpenHost]] = {}
        self._old: list[OpenHost] = []
        self._closing: set[asyncio.Task[None]] = set()
        self._flights: dict[str, Flight] = {}
        self._own = 0

    async def of(self, request: Request) -> OpenHost:
        """Return the host of a session, opened by the first one that needs it.

        Raises `SettingsError` where the settings cannot be used, and `RequiredPackError`.
        """
        if request.apart:
            self._own += 1
        key = _key(request, self._own if request.apart else 0)
        task = self._open.get(key)
        if task is not None and task.done() and not _is_good(task):
            del self._open[key]
            if not task.cancelled() and task.exception() is None:
                self._old.append(task.result())
            task = None
        if task is None:
            task = self._open[key] = asyncio.create_task(self._opened(request))
        return await asyncio.shield(task)

    def all(self) -> list[OpenHost]:
        """Every open host."""
        done = [task for task in self._open.values() if task.done() and not task.cancelled()]
        return [*(task.result() for task in done if task.exception() is None), *self._old]

    async def reload(
        self, settings: str | None, anew: Collection[str] = ()
    ) -> list[dict[str, Any]]:
        """Have the hosts of a settings file read it again, or all; new sessions find them by it."""
        told = []
        for found in self.all():
            if found.reloading is not None and settings in (None, found.reloading.source):
                told.append(await self._reload(found, found.reloading, anew))
        return told

    def hosts(self, settings: str | None) -> list[Host]:
        """Return the hosts of a settings file, or all."""
        of = settings
        return [found.host for found in self.all() if of in (None, str(found.host.settings.source))]

    async def _reload(
        self, found: OpenHost, reloading: Reloading, anew: Collection[str] = ()
    ) -> dict[str, Any]:
        told = await reloading.reload(anew)
        found.secret_files = states(found.host.settings.secrets.files)
        for key, task in list(self._open.items()):
            if task.done() and not task.cancelled() and not task.exception():
                now = key._replace(content=found.host.settings.digest)
                if task.result() is found and now != key:
                    del self._open[key]
                    if now in self._open:  # opened for a session that came meanwhile
                        self._old.append(found)
                    else:
                        self._open[now] = task
        return told

    async def close_idle(self, seconds: float) -> None:
        """Close what had no session for so long, and at once what no new session would get.

        Sessions that end at the same time do so side by side: each takes out what it closes first.
        """
        since = time.monotonic() - seconds
        idle = [old for old in self._old if old.is_idle(since, at_once=True)]
        self._old = [old for old in self._old if old not in idle]
        for key, task in list(self._open.items()):
            if task.done() and (task.cancelled() or task.exception() is not None):
                del self._open[key]
            elif task.done() and (found := task.result()).is_idle(since, at_once=found.is_own):
                del self._open[key]
                idle.append(found)
        if idle:
            closing = {asyncio.create_task(found.close()) for found in idle}
            self._closing |= closing
            await asyncio.wait(closing)  # to the end also where nobody waits any more
            self._closing -= closing

    async def close(self) -> None:
        """Close every host."""
        closing = [found.close() for found in self.all()]
        self._open.clear()
        self._old.clear()
        await asyncio.gather(*closing, *self._closing, return_exceptions=True)

    async def _opened(self, request: Request) -> OpenHost:
        what, settings = await asyncio.to_thread(_read, request)
        self._log.know(settings.secrets)
        inventory = Inventory(settings, alone=what.alone, offers=what.offers, is_recorded=True)
        # Hosts of one owner have one record: it is a file of this process and that owner.
        flight = self._flights.setdefault(inventory.flight.owner, inventory.flight)
        inventory.flight = flight
        await asyncio.to_thread(_load, inventory)
        await asyncio.to_thread(_check, request, inventory)
        gc.freeze()  # what is loaded stays; looking at it for garbage costs calls their time
        if settings.host.telemetry:
            await asyncio.to_thread(_set_up_telemetry, settings)
        host = Host(inventory)
        await host.open()
        opened = OpenHost(what, host, request.identity[2])
        opened.is_own = bool(request.apart)
        if what.read_again is not None:
            read = what.read_again
            reloading = Reloading(host, lambda: _of_session(read(), request))
            opened.reloading = reloading
            if what.watches:
                watching = reloading.watch(lambda: self._reload(opened, reloading))
                opened.watching = asyncio.create_task(watching)
        return opened


def _set_up_telemetry(settings: Settings) -> None:
    """Have this process send; all of its sessions want that, since its name says so."""
    from ..telemetry import set_up  # and OpenTelemetry, which others do without

    set_up(settings)


def _check(request: Request, inventory: Inventory) -> None:
    """Make sure that what was loaded is what the front has seen, and its name stands for.

    Raises `CodeChangedError` where a file was changed meanwhile, and `NotToBeSharedError` where a
    pack must not be shared that the front knows nothing of.
    """
    found = look(ServerIdentity(*request.identity), request.environment)
    if found.fingerprint.get(FILES) != request.code:
        raise CodeChangedError("the code of the host or of a pack was changed meanwhile")
    if others := {*apart(inventory)} - {*request.apart}:
        raise NotToBeSharedError(f"sessions must not share {', '.join(sorted(others))}")


def _load(inventory: Inventory) -> None:
    """Load every pack, also those that take long: clients must see the lists that they know."""
    inventory.load()
    inventory.wait_loaded()
    if inventory.fatal:
        raise RequiredPackError(inventory.fatal)


def _read(request: Request) -> tuple[Serving, Settings]:
    take_turns()
    module, _, path = request.server.partition(":")
    found: Any = import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    serving: Callable[..., tuple[Serving, Callable[[], Settings]]] = found
    options = Options(**{**request.options, **OF_SESSION})
    what, read_settings = serving(options, request.source, request.digest)
    return what, _of_session(read_settings(), request)


def _of_session(settings: Settings, request: Request) -> Settings:
    """Return settings that were read as they are for the sessions of a request."""
    settings = settings.replace(working_folder=Path(request.folder))
    return _with_apart(settings, request) if request.apart else settings


def _with_apart(settings: Settings, request: Request) -> Settings:
    """Return a session's settings: packs that it shares with no other are children of its own."""
    return settings.in_processes(request.apart).replace(environment=request.environment)


def _key(request: Request, session: int) -> HostKey:
    content = ""
    if request.source is not None:
        try:
            content = hashlib.sha256(Path(request.source).read_bytes()).hexdigest()
        except OSError as error:
            content = str(error)
    given = {name: request.options[name] for name in ("root", "config", "profile", "watch")}
    root = request.identity[2]
    options = tuple(sorted(given.items()))
    return HostKey(request.server, request.source, content, root, options, session)


def _is_good(task: asyncio.Task[OpenHost]) -> bool:
    return not task.cancelled() and task.exception() is None and task.result().is_current
