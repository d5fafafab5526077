"""The plan while the host has it open: its health is told, and its changes are watched for."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from .errors import TaskyError
from .resources import PROJECT, task_uri
from .service import Listener, PlanSettings, Service
from .storage import Home

if TYPE_CHECKING:
    from mcp_host import PackHandle

    from .settings import TaskySettings

log = logging.getLogger(__name__)

# Writes that follow each other closely are told of together.
_TOGETHER_SECONDS = 0.05
_OPENING_SECONDS = 5.0


@asynccontextmanager
async def open_service(settings: "TaskySettings", pack: "PackHandle") -> AsyncIterator[Service]:
    """Open the plan of the settings; where there is none yet, say so and let each call look."""
    loop = asyncio.get_running_loop()
    written = asyncio.Event()

    def degraded(error: TaskyError) -> None:
        is_unmade = error.reason in ("no_project", "no_store", "no_url")
        code = "not_set_up" if is_unmade else error.reason
        pack.degraded(error.message, code=code, remedy=" ".join(error.suggestions))

    def wrote() -> None:
        loop.call_soon_threadsafe(written.set)

    served = PlanSettings(
        root=settings.root,
        url=settings.url.get_secret_value() if settings.url else None,
        schema=settings.db_schema,
        lease_seconds=settings.lease_seconds,
    )
    listener = Listener(degraded, pack.recovered, wrote)
    service = Service(served, Home.of_user(), listener, pack.public_name)
    opening = asyncio.create_task(asyncio.to_thread(service.tasks))
    try:
        # A file system without locks keeps a store waiting for longer than the host waits for a
        # pack: the server lives, and each call tries again.
        await asyncio.wait_for(asyncio.shield(opening), _OPENING_SECONDS)
    except TimeoutError:
        opening.add_done_callback(_ignore)
        pack.degraded(
            "The plan's store does not open.",
            code="store_slow",
            remedy="Check its disk: a file system without locks, or one that is far away.",
        )
    except TaskyError:
        pass  # told as degraded; each call tries again
    watch = asyncio.create_task(_watch(service, pack, written, settings.watch_seconds))
    try:
        yield service
    finally:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch
        await asyncio.to_thread(service.close)


def _ignore(opening: "asyncio.Task[object]") -> None:
    """Take note of how a late opening ended; each call tells by itself."""
    if not opening.cancelled():
        opening.exception()


async def _watch(
    service: Service, pack: "PackHandle", written: asyncio.Event, seconds: float
) -> None:
    """Tell of changes, our own at once, other processes' soon; tidy up a little after writes, and
    more when nobody writes. At first that is what a process left that ended before it came to it,
    as each command does."""
    seen: dict[int, int] = {}
    untidy = True
    while True:
        try:
            for uri in await asyncio.to_thread(_changed, service, seen, lambda: pack.watched):
                pack.changed(uri)
        except TaskyError as error:
            log.debug("the plan cannot be watched: %s", error)
        try:
            await asyncio.wait_for(written.wait(), seconds)
            untidy = True
            await asyncio.sleep(_TOGETHER_SECONDS)
            await _tidy(service, is_pause=False)
        except TimeoutError:
            if untidy:
                untidy = await _tidy(service, is_pause=True)
        written.clear()


async def _tidy(service: Service, *, is_pause: bool) -> bool:
    """Tidy up, and return whether more of it is left."""
    with suppress(TaskyError):
        return await asyncio.to_thread(lambda: service.tasks().tidy(is_pause=is_pause))
    return False


def _changed(
    service: Service, seen: dict[int, int], watched: Callable[[], Collection[str]]
) -> list[str]:
    """Return the watched resources that changed since the event in `seen`, which is kept per plan.

    What is watched is asked last: whoever came before a change hears of it.
    """
    tasks = service.tasks()
    last = tasks.last_event()
    before = seen.get(id(tasks))
    seen.clear()
    seen[id(tasks)] = last
    if before is None or last <= before:
        return []
    heard = {*watched()}
    touched = tasks.touched_after(before) if heard - {PROJECT} else []
    return [uri for uri in (PROJECT, *map(task_uri, touched)) if uri in heard]
