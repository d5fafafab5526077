"""Opens the pack: the project's tree, settled where an archive was cut short, and watched."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import OpenSpecError
from .service import OpenSpec, Root
from .service.service import Service
from .storage.kept import Kept
from .storage.roots import place_of, user_schemas
from .storage.snapshot import Snapshot

if TYPE_CHECKING:
    from mcp_host import PackHandle

    from .settings import OpenSpecSettings

BEHIND = 1.0
"""Seconds from the pack's opening until the tree is watched. What is edited meanwhile is told."""

log = logging.getLogger(__name__)


@asynccontextmanager
async def open_service(settings: "OpenSpecSettings", pack: "PackHandle") -> AsyncIterator[Service]:
    """The project's tree, whether it is there or not."""
    root = _root(settings)
    openspec = OpenSpec(
        root,
        max_file_bytes=settings.max_file_bytes,
        user_schemas=user_schemas(os.environ, Path.home()),
        kept=Kept(str(pack.cache_dir)) if settings.cache else None,
    )
    log.debug("OpenSpec tree at %s, chosen by %s", root.openspec, root.source)
    before = await asyncio.to_thread(_settled, openspec)

    def vanished() -> None:
        pack.degraded(
            f"there is no OpenSpec tree at {root.openspec}",
            code="not_set_up",
            remedy=f"Make one with {pack.public_name('init')}, or with: openspec init --tools none",
        )

    if not before.is_there:
        vanished()
    watch = None
    if settings.watch:
        behind = _watch_behind(openspec, before, settings, pack, vanished)
        watch = asyncio.create_task(behind)
    try:
        yield Service(
            openspec,
            pack.public_name,
            pack.recovered,
            tests=settings.tests,
            reports=settings.reports,
        )
    finally:
        if watch is not None:
            watch.cancel()
            with suppress(asyncio.CancelledError):
                await watch


def _root(settings: "OpenSpecSettings") -> Root:
    """Where the tree is: in the project, or at its place among the trees of all projects."""
    project = settings.root or Path.cwd()
    if settings.specs_root is None:
        return Root(project, "configured", settings.folder)
    place = place_of(project, settings.specs_root, Path.home())
    return Root(place, "OPENSPEC_AUTO_PROJECT_ROOT", settings.folder)


def _settled(openspec: OpenSpec) -> Snapshot:
    """Finish or undo an archive that was cut short; the tree as it is then."""
    try:
        if openspec.recover():
            log.warning("an archive that was cut short has been settled")
    except OpenSpecError as error:
        log.warning("an archive was cut short and could not be settled: %s", error)
    return Snapshot.of(openspec.tree.openspec)


async def _watch_behind(
    openspec: OpenSpec,
    before: Snapshot,
    settings: "OpenSpecSettings",
    pack: "PackHandle",
    vanished: Callable[[], None],
) -> None:
    """Watch once the first answers are out: to import what watches takes as long as they do."""
    await asyncio.sleep(BEHIND)
    from .service.watch import Watch

    watch = Watch(
        openspec,
        before,
        changed=pack.changed,
        appeared=pack.recovered,
        vanished=vanished,
        debounce=settings.debounce,
    )
    await watch.run()
