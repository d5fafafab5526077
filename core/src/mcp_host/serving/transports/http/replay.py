"""What a client may fetch again after a broken stream."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Any

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore

STREAMS, EVENTS = 64, 256
"""How many streams are kept of a session, and how many events of each."""


class Replay(EventStore):
    """The last events of one handshake-era session; bounded.

    One for each session, never shared: the SDK names streams by JSON-RPC id, so in a shared store
    one client's `Last-Event-ID` would bring it another client's answers.
    """

    def __init__(self) -> None:
        self._streams: OrderedDict[str, deque[tuple[int, Any]]] = OrderedDict()
        self._last = 0

    async def store_event(self, stream_id: str, message: Any) -> str:
        self._last += 1
        events = self._streams.setdefault(stream_id, deque(maxlen=EVENTS))
        events.append((self._last, message))
        self._streams.move_to_end(stream_id)
        if len(self._streams) > STREAMS:
            self._streams.popitem(last=False)
        return f"{self._last}_{stream_id}"

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        number, _, stream_id = last_event_id.partition("_")
        if stream_id not in self._streams or not number.isdecimal():
            return None
        for event, message in list(self._streams[stream_id]):
            if event > int(number) and message is not None:
                await send_callback(EventMessage(message, f"{event}_{stream_id}"))
        return stream_id
