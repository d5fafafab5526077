"""Standard input and output: our own link under the SDK's lowlevel server."""

from __future__ import annotations

import os

from ....startup import signals, stdout
from ....startup.first_answers import FirstAnswers
from ....startup.first_loop import FirstLoop
from ....startup.handover import Handover
from ....startup.resuming import resumed
from ..transport import Transport

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from ....host import Host
    from ....settings.loading import Settings
    from ....startup.catalogue import Catalogue
    from ...sdk import SdkSide

FIRST_LIMIT = 4 * 1024 * 1024
"""The longest line in bytes, until the settings tell another."""


class Stdio(Transport):
    """Serves one client until its input ends; its first questions are answered while all loads."""

    answers_first = True
    described = "serving on stdio"

    def __init__(self) -> None:
        self._descriptors = (0, 1)
        self._before: Handover | None = None

    @property
    def has_listed(self) -> bool:  # type: ignore[override]  # known when it has answered
        return self._before is not None and self._before.listed

    def resume(self, before: Handover) -> None:
        self._before = before

    def claim(self, read_settings: Callable[[], Settings]) -> None:
        self._descriptors = stdout.claim()

    def answer(
        self,
        catalogue: Catalogue,
        wake: int,
        may_leave: Callable[[], bool],
        begin: Callable[[], None],
    ) -> bool:
        answers = FirstAnswers(catalogue)
        before = resumed(self._before or Handover(), answers)
        loop = FirstLoop(*self._descriptors, FIRST_LIMIT, answers, may_leave, begin, before)
        signals.on_end(lambda *_: _stop(loop))
        self._before = loop.run(wake)
        return self._before is not None

    def load(self) -> None:
        from . import conversation  # noqa: F401 - loaded here, used later

    async def serve(self, host: Host, sdk: SdkSide, stopping: asyncio.Event) -> None:
        from .conversation import serve

        await serve(host, sdk, self._descriptors, self._before, stopping)


def _stop(loop: FirstLoop) -> None:
    """A signal while loading: whoever waits for an answer gets it, then the process ends."""
    if loop.stopping or not loop.owes:
        os._exit(0)
    loop.stopping = True
