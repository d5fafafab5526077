"""One client on standard input and output, from where the first answers left off to its end.

As long as a client asks what the lane and the first answers can answer, nothing here needs the SDK,
which loads behind when nothing is called. From the first other line on, the conversation goes
through the SDK's session, which is shown how it began.
"""

from __future__ import annotations

import asyncio

from ....declarations.context import Caller
from ....host import Host
from ....startup.first_answers import FirstAnswers
from ....startup.frames import Line
from ....startup.handover import Handover
from ....startup.protocol import is_id
from ...lane import requests
from ...lane.stdio import StdioLane
from ...sdk import SdkSide
from .link import StdioLink
from .streams import Streams

IDLE = 1.0
"""Seconds between two looks; the SDK is loaded where nothing was asked from one to the next."""
LOADED = b""
"""Among the lines: the SDK is there, which is needed for something."""
HELD = 64
"""The most lines that wait for the SDK while others are answered."""
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


async def serve(
    host: Host,
    sdk: SdkSide,
    descriptors: tuple[int, int],
    before: Handover | None,
    stopping: asyncio.Event,
    streams: Streams | None = None,
) -> None:
    """Serve one client until its input ends or `stopping` is set.

    `before` is what was answered and kept while all was loading. `streams` are how bytes pass,
    where that is not as usual.
    """
    link = StdioLink(*descriptors, host.settings.host.max_message_bytes, before, streams)
    lane = None if sdk.lane is None else StdioLane(sdk.lane, link, sdk.connections.stdio)
    if before is not None and before.stopping:
        stopping.set()

    async def stop() -> None:
        await stopping.wait()
        sdk.close_streams()
        link.stop()

    watching = asyncio.create_task(stop())
    link.start()
    opening: list[Line] | None = []
    try:
        if lane is not None and before is not None and before.answers is not None:
            early = EarlyConversation(sdk, link, lane, before.answers)
            opening = await early.run()
        if opening is None:
            await drain(host, link, stopping)
        else:
            adapter = await sdk.adapter()
            from .session import StdioSession, run  # imports the SDK

            session = StdioSession(
                link, adapter, lambda: drain(host, link, stopping), lane=lane, opening=opening
            )
            await run(adapter.server, session)
    finally:
        watching.cancel()
        if lane is not None:
            await lane.close()
        link.close()


class EarlyConversation:
    """The part of a conversation that needs no SDK.

    `answers` have answered the opening, or are to. `_opening` is what the SDK must see first once
    it is there: the opening, whose answer it gives in vain, and that the client is initialized.
    What needs the SDK is held until that is there, which takes most of a second; calls are answered
    meanwhile.
    """

    def __init__(
        self, sdk: SdkSide, link: StdioLink, lane: StdioLane, answers: FirstAnswers
    ) -> None:
        self._sdk = sdk
        self._link = link
        self._lane = lane
        self._answers = answers
        self._opening: list[Line] = []
        self._held: list[Line] = []
        self._is_waiting = self._is_over = False
        self._was_asked = False
        self._timer: asyncio.TimerHandle | None = None

    async def run(self) -> list[Line] | None:
        """Answer lines until the SDK is needed and there; return what that must see first.

        None says that the input has ended.
        """
        if self._sdk.is_stale or (self._answers.era is None and self._answers.replay):
            return []
        if self._answers.era == "modern":
            self._lane.is_modern = True
        lines, held = self._link.lines, self._held
        self._sdk.on_stale = self._on_stale
        self._was_asked = True
        self._wait_until_idle()
        try:
            while (line := await self._link.next_line(self._lane_takes)) is not None:
                if line == LOADED:
                    return [*self._opening, *held]
                if isinstance(line, bytes) and self._takes(line):
                    continue
                self._load()
                held.append(line)
                if not self._opening or len(held) > HELD:
                    return [*self._opening, *held]
            if not held:
                return None
            lines.put_nowait(None)
            return [*self._opening, *held]
        finally:
            self._is_over = True
            self._sdk.on_stale = None
            if self._timer is not None:
                self._timer.cancel()

    def _on_stale(self) -> None:
        """Have the client told of changed lists once the SDK is there."""
        self._sdk.on_stale = None
        if self._answers.era == "handshake":
            self._load()

    def _load(self) -> None:
        """Load the SDK, and come to know when it is there."""
        if not self._is_waiting:
            self._is_waiting = True
            self._sdk.load_behind(then=self._loaded)

    def _loaded(self) -> None:
        if not self._is_over:
            self._link.lines.put_nowait(LOADED)

    def _lane_takes(self, line: bytes) -> bool:
        """Whether the lane answers a line."""
        self._was_asked = True
        return self._lane.takes(line)

    def _takes(self, line: bytes) -> bool:
        """Whether a line is answered here, or needs no answer."""
        if self._lane_takes(line):
            return True
        given = requests.message(line)
        if given is None:
            return False
        request_id = given.get("id")
        if self._answers.era is None:
            return self._opens(line)
        if not self._opening:
            if is_id(request_id) and (type(request_id), request_id) in self._answers.answered:
                self._opening.append(line)
                return True
            return False
        if requests.cancelled(given) is not None:
            return not self._held  # else nothing that it could be for is running
        if is_id(request_id) and self._link.is_open(request_id):
            return False
        self._answers.catalogue = self._sdk.catalogue()
        answer = self._answers.answer(line)
        if answer is not None:
            self._link.post(answer)
        elif given == INITIALIZED and self._answers.era == "handshake":
            self._opening.append(line)
            self._lane.begin_handshake(self._caller())
        else:
            return False
        return True

    def _opens(self, line: bytes) -> bool:
        """Whether the first line is one that is answered here."""
        answer = self._answers.answer(line)
        if answer is None:
            return False
        self._opening.append(line)
        for _, request_id in self._answers.answered:
            self._link.note_answered(request_id)  # the SDK answers it as well, in vain
        self._lane.is_modern = True if self._answers.era == "modern" else None
        self._link.post(answer)
        return True

    def _caller(self) -> Caller:
        version, client, offers = self._answers.handshake
        connection = self._sdk.connections.stdio.id
        return Caller(
            client=client,
            connection=connection,
            protocol=version,
            offers=offers,
            extensions=self._answers.extensions,
        )

    def _wait_until_idle(self) -> None:
        """Load the SDK behind, once nothing is asked: loading holds up whatever is."""
        if not self._was_asked and not self._lane.is_busy:
            self._sdk.load_behind()
        else:
            self._was_asked = False
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(IDLE, self._wait_until_idle)


async def drain(host: Host, link: StdioLink, stopping: asyncio.Event) -> None:
    """Let accepted calls end: at the end of input by their deadlines, after a signal by `grace`.

    A client that has ended its input and takes nothing for as long as `grace` has gone.
    """
    grace = host.settings.host.grace
    stopped = asyncio.create_task(stopping.wait())
    ended = asyncio.create_task(_all_answered(host, link))
    while not (stopped.done() or ended.done() or link.is_stuck(grace)):
        await asyncio.wait({stopped, ended}, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
    if stopping.is_set() and not ended.done():
        await asyncio.wait({ended}, timeout=grace)
    stopped.cancel()
    ended.cancel()


async def _all_answered(host: Host, link: StdioLink) -> None:
    await link.drained()
    await host.required_decided()
