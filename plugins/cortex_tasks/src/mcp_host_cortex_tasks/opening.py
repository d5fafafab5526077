"""Opens the pack: the command in the project's repository, and the watch over what it shows."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import CortexError
from .program import program
from .service import Service
from .service.setup import Missing, what_is_missing
from .service.watch import Watch

if TYPE_CHECKING:
    from mcp_host import PackHandle

    from .settings import CortexSettings


@asynccontextmanager
async def open_service(settings: "CortexSettings", pack: "PackHandle") -> AsyncIterator[Service]:
    """Yield the service of the project's folder, which is looked at while a client watches it."""
    folder = settings.root or Path.cwd()

    def missing(error: CortexError | None) -> Missing | None:
        return what_is_missing(folder, settings.home, error)

    def noticed(error: CortexError | None) -> None:
        found = missing(error)
        if found is None:
            pack.recovered()
        else:
            pack.degraded(found.reason, code="not_set_up", remedy=found.remedy)

    watch = Watch(folder, pack.changed, lambda: pack.watched, every=settings.poll)
    service = Service(
        pack.run,
        program(settings),
        folder,
        list_limit=settings.list_timeout,
        git_limit=settings.git_timeout,
        environment=_environment(settings),
        worktree=settings.worktree,
        use_title=settings.default_message == "title",
        changed=pack.changed,
        noticed=noticed,
        watch=watch,
        missing=missing,
        named=pack.public_name,
    )
    noticed(None)
    watching = asyncio.create_task(watch.run(service.tasks, service.feedback, service.standing))
    try:
        yield service
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching


def _environment(settings: "CortexSettings") -> dict[str, str]:
    return {"CORTEX_HOME": str(settings.home)} if settings.home else {}
