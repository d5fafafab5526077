"""What this pack answers to the host's questions."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mcp_host import PackHandle, Prompt, Resource, Tool, hookimpl

from . import errors, prompts, resources, tools
from .settings import OpenSpecSettings

if TYPE_CHECKING:
    from .opened import Opened
    from .service import OpenSpec
    from .storage.roots import Root

log = logging.getLogger(__name__)


@hookimpl
def mcp_host_settings() -> type[OpenSpecSettings]:
    return OpenSpecSettings


@hookimpl
@asynccontextmanager
async def mcp_host_open(settings: OpenSpecSettings, pack: PackHandle) -> AsyncIterator["Opened"]:
    # The engine comes with these: a pack that is only listed does not wait for it.
    from .opened import Opened
    from .service import OpenSpec
    from .storage.roots import user_schemas

    root = root_of(settings)
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
            remedy=f"Make one with {pack.public_name('init')}, or with: openspec init",
        )

    if not openspec.is_there:
        vanished()
    watch = await _watch(openspec, settings, pack, vanished) if settings.watch else None
    try:
        yield Opened(openspec, pack.public_name, pack.recovered)
    finally:
        if watch is not None:
            watch.cancel()
            with suppress(asyncio.CancelledError):
                await watch


@hookimpl
def mcp_host_tools() -> Sequence[Tool]:
    return [
        tools.init,
        tools.list_items,
        tools.show,
        tools.validate,
        tools.archive,
        tools.update_project_context,
    ]


@hookimpl
def mcp_host_resources() -> Sequence[Resource]:
    return [
        resources.instructions,
        resources.project,
        resources.specs,
        resources.spec,
        resources.changes,
        resources.change,
        resources.proposal,
        resources.tasks,
        resources.design,
        resources.archive,
    ]


@hookimpl
def mcp_host_prompts() -> Sequence[Prompt]:
    return [prompts.propose, prompts.apply, prompts.archive]


@hookimpl
def mcp_host_instructions() -> str:
    return (
        "The project's OpenSpec tree: specs say what is true, changes say what shall become true. "
        "Read openspec://instructions before proposing a change, find names with {tool:list}, and "
        "run {tool:validate} before and {tool:archive} with dryRun before archiving. "
        "Agrees with OpenSpec 1.13.2."
    )


@hookimpl
def mcp_host_errors() -> Mapping[type[Exception], str]:
    return {
        errors.OpenSpecError: "validation_error",
        errors.NoTree: "not_found",
        errors.NotFound: "not_found",
        errors.InvalidName: "validation_error",
        errors.Ambiguous: "validation_error",
        errors.OutsideTree: "permission_denied",
        errors.BadFile: "validation_error",
        errors.CannotWrite: "unavailable",
        errors.AlreadyInitialised: "conflict",
        errors.Refused: "conflict",
        errors.Changed: "conflict",
        errors.Locked: "busy",
        errors.Withdrawn: "cancelled",
    }


@hookimpl
def mcp_host_acts_as() -> Literal["server-user"]:
    return "server-user"


def root_of(settings: OpenSpecSettings) -> "Root":
    """Where the tree is: in the project, or at its place among the trees of all projects."""
    from .storage.roots import Root, place_of

    project = settings.root or Path.cwd()
    if settings.specs_root is None:
        return Root(project, "configured")
    return Root(place_of(project, settings.specs_root, Path.home()), "OPENSPEC_AUTO_PROJECT_ROOT")


def _recover(openspec: "OpenSpec") -> None:
    try:
        if openspec.recover():
            log.warning("an archive that was cut short has been settled")
    except errors.OpenSpecError as error:
        log.warning("an archive was cut short and could not be settled: %s", error)


async def _watch(
    openspec: "OpenSpec",
    settings: OpenSpecSettings,
    pack: PackHandle,
    vanished: Callable[[], None],
) -> asyncio.Task[None]:
    from .watching import Watch

    watch = Watch(
        openspec,
        changed=pack.changed,
        appeared=pack.recovered,
        vanished=vanished,
        debounce=settings.debounce,
    )
    return await watch.start()
