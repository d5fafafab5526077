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
from .service.watch import Watch
from .storage.roots import place_of, user_schemas

if TYPE_CHECKING:
    from mcp_host import PackHandle

    from .settings import OpenSpecSettings

log = logging.getLogger(__name__)


@asynccontextmanager
async def open_service(settings: "OpenSpecSettings", pack: "PackHandle") -> AsyncIterator[Service]:
    """The project's tree, whether it is there or not."""
    root = _root(settings)
    openspec = OpenSpec(
        root,
        max_file_bytes=settings.max_file_bytes,
        user_schemas=user_schemas(os.environ, Path.home()),
    )
    log.debug("OpenSpec tree at %s, chosen by %s", root.openspec, root.source)
    await asyncio.to_thread(_recover, openspec)

    def vanished() -> None:
        pack.degraded(
            f"there is no OpenSpec tree at {root.openspec}",
            code="not_set_up",
            remedy=f"Make one with {pack.public_name('init')}, or with: openspec init --tools none",
        )

    if not openspec.is_there:
        vanished()
    watch = await _watch(openspec, settings, pack, vanished) if settings.watch else None
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


def _recover(openspec: OpenSpec) -> None:
    try:
        if openspec.recover():
            log.warning("an archive that was cut short has been settled")
    except OpenSpecError as error:
        log.warning("an archive was cut short and could not be settled: %s", error)


async def _watch(
    openspec: OpenSpec,
    settings: "OpenSpecSettings",
    pack: "PackHandle",
    vanished: Callable[[], None],
) -> asyncio.Task[None]:
    watch = Watch(
        openspec,
        changed=pack.changed,
        appeared=pack.recovered,
        vanished=vanished,
        debounce=settings.debounce,
    )
    return await watch.start()
