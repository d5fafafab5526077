"""What a client may fetch again after a broken stream."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Any

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp_types import jsonrpc_message_adapter

STREAMS, EVENTS = 64, 256
"""How many streams are kept of a session, and how many events of each."""
OVERHEAD = 200
"""Bytes that an event takes in memory beside its text."""


class ReplayBudget:
    """The bytes that the replays of all sessions may keep together.

    Where they would keep more, the session that keeps most loses its oldest events: one that is
    flooded takes nothing from the others.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._replays: set[Replay] = set()
        self.used = 0

    def open(self, replay: Replay) -> None:
        """Count a replay from now on."""
        self._replays.add(replay)

    def close(self, replay: Replay) -> None:
        """Count a replay no longer."""
        self._replays.discard(replay)

    def changed(self, by: int) -> None:
        """Count the bytes that a replay now keeps more, or fewer, and drop what is too much."""
        self.used += by
        while self.used > self._total:
            max(self._replays, key=lambda replay: replay.kept).drop_oldest()


class Replay(EventStore):
    """The last events of one handshake-era session; bounded in number and in bytes.

    One for each session, never shared: the SDK names streams by JSON-RPC id, so in a shared store
    one client's `Last-Event-ID` would bring it another client's answers. `kept` is how many bytes
    are kept now; an event that alone is longer than `limit` is not kept.
    """

    def __init__(self, limit: int, budget: ReplayBudget) -> None:
        self._streams: OrderedDict[str, deque[tuple[int, bytes | None]]] = OrderedDict()
        self._last = 0
        self._limit = limit
        self._budget = budget
        self.kept = 0
        budget.open(self)

    async def store_event(self, stream_id: str, message: Any) -> str:
        self._last += 1
        events = self._streams.setdefault(stream_id, deque())
        self._streams.move_to_end(stream_id)
        if len(self._streams) > STREAMS:
            self._drop(self._streams.popitem(last=False)[1])
        if len(events) == EVENTS:
            self._drop([events.popleft()])
        text = None
        if message is not None:
            text = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        if (size := _size(text)) <= self._limit:
            while self.kept + size > self._limit:
                self.drop_oldest()
            events.append((self._last, text))
            self._count(size)
        return f"{self._last}_{stream_id}"

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        number, _, stream_id = last_event_id.partition("_")
        if stream_id not in self._streams or not number.isdecimal():
            return None
        for event, text in list(self._streams[stream_id]):
            if event > int(number) and text is not None:
                message = jsonrpc_message_adapter.validate_json(text, by_name=False)
                await send_callback(EventMessage(message, f"{event}_{stream_id}"))
        return stream_id

    def drop_oldest(self) -> None:
        """Forget the oldest event; its stream can still be taken up again."""
        filled = [events for events in self._streams.values() if events]
        self._drop([min(filled, key=lambda events: events[0][0]).popleft()])

    def close(self) -> None:
        """Forget everything: the session has ended."""
        for events in self._streams.values():
            self._drop(events)
        self._streams.clear()
        self._budget.close(self)

    def _drop(self, events: Any) -> None:
        self._count(-sum(_size(text) for _, text in events))

    def _count(self, by: int) -> None:
        self.kept += by
        self._budget.changed(by)


def _size(text: bytes | None) -> int:
    return OVERHEAD + len(text or b"")
