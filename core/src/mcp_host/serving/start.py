"""From a command line to a running server and its exit code; what `serve` and packs alone share.

A client's first questions may be answered while the SDK is still loading, from the saved catalogue
even before the settings are read. So what this module needs later is imported where it is needed:
an import at its top would be paid before the first answer.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import sys
import threading
import time

from ..startup import saved, signals
from ..startup.catalogue import Catalogue
from ..startup.protocol import LISTS
from ..startup.records import Record
from ..startup.saved import Saved
from . import transports

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping, Sequence
    from typing import NoReturn

    from ..host import Host
    from ..packs.declared import Offer
    from ..packs.inventory import Inventory
    from ..runtime.watchdog import Watchdog
    from ..settings.loading import Settings
    from ..startup.handover import Handover
    from ..startup.options import TransportName
    from ..startup.saved import Identity
    from .transports import Transport

EXIT_OK, EXIT_ERROR, EXIT_REQUIRED_PACK = 0, 1, 3
PATIENCE = 5.0
"""Seconds that the end of the process may take beside what `grace` allows."""
SWITCH_INTERVAL = 0.0005
"""Seconds that a thread which computes may hold the interpreter while a client's answer is due."""
LOADING = 10.0
"""Seconds of loading after which the stacks of all threads are written, should nothing else be."""


class Serving(Record):
    """What is to be served, and as whom; `version` is asked once the first answers are out.

    `identity` finds the saved catalogue; None does without. `alone` names the one pack of a
    stand-alone server, and `offers` where packs are without asking the metadata of all that is
    installed. `started` is the line that is written to standard error once requests can be taken.
    `variables` are the names of the environment that the command itself reads. `saved` is the saved
    catalogue where it was read already, and `before` what another process has begun to serve.
    `read_again` reads the settings while they are served; None where that cannot be. A server that
    `watches` heeds changes of its settings file.
    """

    name: str
    version: Callable[[], str]
    transport: TransportName = "stdio"
    alone: str | None = None
    title: str | None = None
    offers: Mapping[str, Sequence[Offer]] | None = None
    started: str | None = None
    identity: Identity | None = None
    variables: tuple[str, ...] = ()
    saved: Saved | None = None
    before: Handover | None = None
    read_again: Callable[[], Settings] | None = None
    watches: bool = False


def serve(what: Serving, read_settings: Callable[[], Settings]) -> NoReturn:
    """Serve until the client or a signal ends it; ends the process with its exit code."""
    gc.disable()  # nothing of what is imported goes away again; looking for it costs a tenth
    signals.on_end(lambda *_: os._exit(EXIT_OK))  # there is nothing to finish yet
    if what.read_again is not None:
        signals.on_reload()
    try:
        code = _Start(what, read_settings).run()
    except BaseException as error:
        code = _explained(error)
    leave(code)


def leave(code: int) -> NoReturn:
    """End the process now: a thread that hangs must not hold the exit."""
    for stream in (sys.stdout, sys.__stdout__, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except BaseException:  # noqa: S112 - whatever a pack has put in its place
            continue
    os._exit(code)


class _Start:
    """One start of a server.

    The main thread answers a client's first questions while the thread "loading" loads the rest.
    That thread alone sets `_inventory`, `_version` and `_error`; the main thread reads the last two
    when it has been woken, and `_inventory`, once set, at any time. Where the transport gives no
    first answers, the main thread does both, one after the other. `_shown` is the catalogue that
    the first answers were given from; None where none were given.
    """

    def __init__(self, what: Serving, read_settings: Callable[[], Settings]) -> None:
        self._what = what
        self._read_settings = read_settings
        self._transport: Transport = transports.find(what.transport)
        if what.before is not None:
            self._transport.resume(what.before)
        self._version = ""
        self._inventory: Inventory | None = None
        self._error: BaseException | None = None
        self._began = 0.0
        self._shown: Catalogue | None = None
        self._saved = Saved(None, "it is switched off")
        self._saving = threading.Lock()

    def run(self) -> int:
        """Claim what the transport needs, load and answer at once, then serve."""
        self._transport.claim(self._read_settings)
        if not self._transport.answers_first:
            self._load()
            self._import_sdk()
        elif not self._answer_while_loading():
            return EXIT_OK
        return self._serve()

    # -- loading

    def _load(self) -> None:
        """Read the settings and load the packs; then `_inventory` is there."""
        from ..packs.importing import take_turns
        from ..packs.inventory import Inventory
        from ..settings.borrowed import spare_plugin_search
        from . import logs, prints

        spare_plugin_search()
        self._began = time.time()
        what = self._what
        self._version = what.version()
        settings = self._read_settings()
        logs.configure(settings.host.log_level, settings.host.log_format, settings.secrets)
        logs.keep_ours()
        prints.mask(settings.secrets)
        faulthandler.dump_traceback_later(LOADING, file=logs.descriptor())
        exposed = self._transport.is_exposed(settings)
        take_turns()
        self._inventory = Inventory(
            settings, alone=what.alone, exposed=exposed, offers=what.offers, is_recorded=True
        )
        self._inventory.load()
        if not self._inventory.is_loading:
            faulthandler.cancel_dump_traceback_later()

    def _import_sdk(self) -> None:
        """Import what serving needs, also where a pack that loads late imports the same."""
        from ..packs.importing import once_more
        from ..runtime.collector import Collector
        from . import logs

        once_more(self._import_all)
        logs.keep_ours()
        gc.freeze()
        Collector().start()

    def _import_all(self) -> None:
        from .. import host  # noqa: F401 - loaded here, used later
        from . import sdk  # noqa: F401 - as above

        settings = self._loaded.settings
        if settings.host.telemetry or (self._what.transport == "http" and settings.http.metrics):
            from . import telemetry

            telemetry.set_up(self._loaded.settings)
        from .lane.lane import is_lane_on

        if not is_lane_on(self._loaded.settings):
            from . import adapter  # noqa: F401 - every call needs it

        self._transport.load()

    # -- the first answers

    def _answer_while_loading(self) -> bool:
        """Answer what can be answered while a thread loads; False where the client has left."""
        if self._what.saved is not None:
            self._saved = self._what.saved
        elif self._what.identity is not None:
            self._saved = saved.read(self._what.identity)
        if self._saved.is_good:
            self._shown = self._saved.catalogue
        else:
            self._load()
            self._shown = self._catalogue()
        assert self._shown is not None
        wake, loaded = os.pipe()
        sys.setswitchinterval(SWITCH_INTERVAL)
        loading = threading.Thread(
            target=self._load_the_rest, args=(loaded,), name="loading", daemon=True
        )
        stays = self._transport.answer(self._shown, wake, self._may_leave, loading.start)
        os.close(wake)
        if not stays:
            self._save()
        elif self._error is not None:
            raise self._error
        return stays

    def _load_the_rest(self, loaded: int) -> None:
        try:
            if self._inventory is None:
                self._load()
            else:
                self._save()
            self._import_sdk()
        except BaseException as error:
            self._error = error
        os.write(loaded, b".")
        os.close(loaded)

    def _may_leave(self) -> bool:
        """Whether the process may end before it has loaded: not when a pack must open first."""
        if self._what.alone is not None or self._error is not None:
            return False
        if self._inventory is None:
            return not self._saved.must_stay
        return not _must_stay(self._inventory)

    def _catalogue(self) -> Catalogue:
        """What the loaded packs show first."""
        from ..declarations.context import Caller

        inventory, what = self._loaded, self._what
        pages = {str(name): inventory.lists.page(name, None, Caller()) for name in LISTS.values()}
        return Catalogue(
            what.name,
            self._version,
            what.title,
            inventory.instructions,
            pages,
            inventory.may_change,
            inventory.extensions,
        )

    def _save(self) -> None:
        """Save what was loaded for the next start; not while a pack is still loading."""
        inventory, identity = self._inventory, self._what.identity
        if inventory is None or identity is None or inventory.is_loading:
            return
        if not inventory.settings.host.catalogue:
            return
        from ..packs.dependencies import apart, dependencies, owners

        with self._saving:
            now = self._catalogue()
            if inventory.settings.secrets.is_in(vars(now)):
                return  # a name or a URI was made of it: the file would give it away
            if now != self._saved.catalogue or not self._saved.is_good:
                depends = dependencies(inventory, self._what.variables)
                if saved.was_edited(depends, self._began, time.time()):
                    return  # of which code this is the catalogue, the next start can tell
                saved.write(
                    identity,
                    now,
                    depends,
                    must_stay=_must_stay(inventory),
                    is_warm=inventory.settings.host.warm,
                    sends=inventory.settings.host.telemetry,
                    apart=apart(inventory),
                    owners=owners(inventory),
                )
                self._saved = Saved(now, "")

    # -- serving

    def _serve(self) -> int:
        """Serve with the SDK, from where the first answers left off."""
        import asyncio

        from ..host import Host
        from .event_loop import new_event_loop

        sys.setswitchinterval(SWITCH_INTERVAL)
        is_stale = False
        if self._shown is not None:
            now = self._catalogue()
            is_stale = self._transport.has_listed and now.pages != self._shown.pages
            if now != self._shown:
                _log("the saved catalogue was not what the packs now show; it is replaced")
                self._save()
        for warning in self._loaded.warnings:
            _log(warning)
        host = Host(self._loaded)
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(self._serve_host(host, is_stale))

    async def _serve_host(self, host: Host, is_stale: bool) -> int:
        """Serve until the transport has done, or a required pack fails; return the exit code."""
        import asyncio

        from . import logs
        from .sdk import SdkSide

        what, transport = self._what, self._transport
        stopping = asyncio.Event()
        reloads = None
        if what.read_again is not None:
            from .reload.reloads import Reloads

            reloads = Reloads(host, what.read_again, watches=what.watches)
        watchdog = self._watchdog(stopping, None if reloads is None else reloads.soon)
        watchdog.watch()
        await host.open(in_turn=transport.answers_first)
        is_stateless = not transport.keeps_sessions(host.settings)
        sdk = SdkSide(host, self._catalogue, stateless=is_stateless, stale=is_stale)
        serving = asyncio.create_task(transport.serve(host, sdk, stopping))
        failing = asyncio.create_task(host.failed())
        saving = asyncio.create_task(self._save_late(host))
        line = what.started or f"{what.name} {self._version} {transport.described}"
        logs.write(line)  # for a person who waits
        if reloads is not None:
            await reloads.open()
        await asyncio.wait({serving, failing}, return_when=asyncio.FIRST_COMPLETED)
        watchdog.ending()
        if reloads is not None:
            reloads.close()
        if failing.done():
            serving.cancel()
        failing.cancel()
        saving.cancel()
        await asyncio.gather(serving, failing, saving, return_exceptions=True)
        sdk.detach()
        await host.close()
        if host.settings.host.telemetry:
            from .telemetry import flush

            await asyncio.to_thread(flush)
        if host.fatal:
            return _failed(EXIT_REQUIRED_PACK, host.fatal)
        if not serving.cancelled() and (error := serving.exception()) is not None:
            logs.failed("serving failed", error)
            return EXIT_ERROR
        return EXIT_OK

    async def _save_late(self, host: Host) -> None:
        """Save the catalogue once packs that were slow to import are there as well."""
        if await host.imported():
            self._save()

    def _watchdog(self, stopping: asyncio.Event, reload: Callable[[], None] | None) -> Watchdog:
        from ..runtime.watchdog import Watchdog
        from . import logs

        settings = self._loaded.settings
        grace = settings.host.grace
        drain = settings.http.drain if self._what.transport == "http" else 0
        return Watchdog(
            logs.descriptor(),
            stop=stopping.set,
            patience=drain + 2 * grace + PATIENCE,  # for the calls, for the packs, for all else
            code=EXIT_OK,
            modules=self._loaded.modules,
            reload=reload,
        )

    @property
    def _loaded(self) -> Inventory:
        assert self._inventory is not None  # `_load` has run
        return self._inventory


def _must_stay(inventory: Inventory) -> bool:
    return any(pack.table.required for pack in inventory.packs.values())


def _explained(error: BaseException) -> int:
    """The exit code of what ended the start, which one clear line explains."""
    from ..errors import SettingsError
    from ..packs.inventory import RequiredPackError

    if isinstance(error, RequiredPackError):
        return _failed(EXIT_REQUIRED_PACK, str(error))
    if isinstance(error, SettingsError | OSError):
        return _failed(EXIT_ERROR, str(error))
    if isinstance(error, KeyboardInterrupt):
        return EXIT_OK
    raise error


def _failed(code: int, reason: str) -> int:
    from . import logs

    logs.write(f"error: {reason}")  # the one clear line
    return code


def _log(text: str) -> None:
    import logging

    logging.getLogger("mcp_host").warning("%s", text)
