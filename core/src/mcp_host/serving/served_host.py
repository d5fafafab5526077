"""A host that is served over one transport, from its opening to its end."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ..host import Host
from ..packs.conditions import DISABLED
from ..runtime.loop import PackLoop
from ..runtime.switching import SwitchInterval
from ..runtime.thread_worker import ThreadWorker
from ..runtime.watchdog import Watchdog
from ..startup.catalogue import Catalogue
from . import logs
from .event_loop import new_event_loop
from .loading import Loaded
from .saving import Saving
from .sdk import SdkSide
from .serving import EXIT_ERROR, EXIT_OK, EXIT_REQUIRED_PACK, PATIENCE, SWITCH_INTERVAL, failed
from .transports.transport import Transport

if TYPE_CHECKING:
    from .serving import Serving

log = logging.getLogger("mcp_host")


class ServedHost:
    """What was loaded, served over a transport; `shown` are the first answers, None without any."""

    def __init__(
        self,
        what: Serving,
        transport: Transport,
        loaded: Loaded,
        saving: Saving,
        shown: Catalogue | None,
    ) -> None:
        self._what = what
        self._transport = transport
        self._loaded = loaded
        self._saving = saving
        self._shown = shown

    def run(self) -> int:
        """Serve with the SDK, from where the first answers left off; return the exit code."""
        sys.setswitchinterval(SWITCH_INTERVAL)
        is_stale = False
        if self._shown is not None:
            now = self._loaded.catalogue()
            if self._loaded.inventory.is_loading:
                self._saving.save()  # once all is loaded; the lists are told of as packs arrive
            elif now != self._shown:
                is_stale = self._transport.has_listed and now.pages != self._shown.pages
                log.warning("the saved catalogue was not what the packs now show; it is replaced")
                self._saving.save()
        for warning in self._loaded.inventory.warnings:
            log.warning("%s", warning)
        host = Host(self._loaded.inventory)
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(self._serve_logged(host, is_stale))

    async def _serve_logged(self, host: Host, is_stale: bool) -> int:
        with logs.gathering(asyncio.get_running_loop()):
            return await self._serve(host, is_stale)

    async def _serve(self, host: Host, is_stale: bool) -> int:
        """Serve until the transport has done, or a required pack fails; return the exit code."""
        what, transport = self._what, self._transport
        stopping = asyncio.Event()
        reloads = None
        if what.read_again is not None:
            from .reload.reloads import Reloads  # where they are never read again, not needed

            reloads = Reloads(host, what.read_again, watches=what.watches)
        watchdog = self._watchdog(host, stopping, None if reloads is None else reloads.soon)
        watchdog.watch()
        await host.open(in_turn=transport.answers_first)
        is_stateless = not transport.keeps_sessions(host.settings)
        sdk = SdkSide(
            host,
            self._loaded.catalogue,
            stateless=is_stateless,
            stale=is_stale,
            connection=what.connection,
        )
        serving = asyncio.create_task(transport.serve(host, sdk, stopping))
        failing = asyncio.create_task(host.failed())
        saving = asyncio.create_task(self._save_late(host))
        line = what.started or f"{what.name} {self._loaded.version} {transport.described}"
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
        self._save_at_end(host)
        sdk.detach()
        await host.close()
        if host.settings.host.telemetry:
            from .telemetry import flush

            await asyncio.to_thread(flush)
        if host.fatal:
            return failed(EXIT_REQUIRED_PACK, host.fatal)
        if not serving.cancelled() and (error := serving.exception()) is not None:
            logs.failed("serving failed", error)
            return EXIT_ERROR
        return EXIT_OK

    async def _save_late(self, host: Host) -> None:
        """Save the catalogue once packs that were slow to import are there as well."""
        if await host.imported() or self._saving.is_due:
            self._saving.save()

    def _save_at_end(self, host: Host) -> None:
        """Save what mounted servers have come to list: they declare that at their next start."""
        packs = [pack for pack in host.packs.values() if pack.condition is not DISABLED]
        there = [pack.declared for pack in packs if pack.condition.listed and pack.declared]
        if len(there) < len(packs) or any(each.needs.changes_lists for each in there):
            return  # the next start shows other lists than these
        if any(each.is_brought for each in there):
            self._saving.save()

    def _watchdog(
        self, host: Host, stopping: asyncio.Event, reload: Callable[[], None] | None
    ) -> Watchdog:
        settings = self._loaded.settings
        drain = settings.http.drain if self._what.transport == "http" else 0
        grace = settings.host.grace
        return Watchdog(
            logs.descriptor(),
            stop=stopping.set,
            patience=drain + 2 * grace + PATIENCE,  # for the calls, for the packs, for all else
            code=EXIT_OK,
            modules=self._loaded.inventory.modules,
            reload=reload,
            interval=SwitchInterval(SWITCH_INTERVAL, partial(_loops, host)).look,
        )


def _loops(host: Host) -> list[PackLoop]:
    """The loops of the packs in this process, which run; in any thread."""
    workers = [lifecycle.worker for lifecycle in list(host.running.values())]
    loops = [worker.loop for worker in workers if isinstance(worker, ThreadWorker)]
    return [loop for loop in loops if loop is not None and loop.thread and not loop.stopping]
