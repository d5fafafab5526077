"""News for the page, as server-sent events: each open page hears each piece of it."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

_KEPT = 1_000
_HEARTBEAT_SECONDS = 15.0


class PageEvents:
    """A stream that every open page listens to. `send` is a plain call, safe from any thread.

    A page that is too slow to follow is told `reset` in place of what it missed, and reads anew.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[asyncio.Queue[str | None], asyncio.AbstractEventLoop] = {}
        self._is_closed = False

    def send(self, name: str, data: Any) -> None:
        """Tell every open page of an event with a name and JSON data."""
        body = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        self._tell(f"event: {name}\ndata: {body}\n\n")

    def close(self) -> None:
        """End all streams, and those to come."""
        self._is_closed = True
        self._tell(None)

    def _tell(self, text: str | None) -> None:
        with self._lock:
            listeners = list(self._listeners.items())
        for queue, loop in listeners:
            if not loop.is_closed():
                loop.call_soon_threadsafe(_put, queue, text)

    async def stream(self) -> AsyncIterator[str]:
        """Yield what is sent from now on, and a comment now and then that keeps the line open."""
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        with self._lock:
            self._listeners[queue] = asyncio.get_running_loop()
        try:
            yield ": open\n\n"
            while not self._is_closed:
                try:
                    text = await asyncio.wait_for(queue.get(), _HEARTBEAT_SECONDS)
                except TimeoutError:
                    text = ": still here\n\n"
                if text is None:
                    return
                yield text
        finally:
            with self._lock:
                self._listeners.pop(queue, None)


def _put(queue: asyncio.Queue[str | None], text: str | None) -> None:
    if queue.qsize() >= _KEPT:
        while not queue.empty():
            queue.get_nowait()
        text = "event: reset\ndata: {}\n\n"
    queue.put_nowait(text)
