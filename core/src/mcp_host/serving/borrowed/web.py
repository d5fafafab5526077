"""What is borrowed from uvicorn: what it does with a connection."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from ...runtime import eager
from ...runtime.alarms import Alarms
from ..lane.asgi import WHOLE_BODY, Header
from ..lane.exchange import AT_ONCE, ON_GONE

if sys.platform == "linux":
    from ...runtime.unblocking import send
else:
    from os import write as send


class Counts(Protocol):
    """What is told of every connection."""

    def opened(self, connection: Any) -> None:
        """A client has connected."""

    def heard(self, connection: Any) -> None:
        """Data came, or a response has ended."""

    def closed(self, connection: Any) -> None:
        """The connection is no more."""


READ_AGAIN = 0.05
"""Seconds after which a connection is read on whose client sent a request before its answer."""
FULL = 64 * 1024
"""Bytes that are sent without waiting for more."""
LONGEST_HEADER = 64 * 1024
"""Bytes of a header that are taken; of one that comes in a single piece, as many as that has."""
TOO_LONG = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"connection: close\r\ncontent-length: 0\r\n\r\n"
)


class GatheringTransport:
    """A connection that sends what is written in one go of the loop as one piece.

    uvicorn writes the head of a response and its body one after the other, each of which would be
    sent, and wake the client, by itself.

    A response may also be sent by `send_at_once` in another thread, while the loop writes nothing
    here. Then `_rest` is what of it the system did not take, and what uvicorn writes is not sent,
    until `response_ended`. `_is_lost` is set before the descriptor is closed, and it changes, as
    `_rest`, in the hands of `_sending` alone.
    """

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._pieces: list[bytes] = []
        self._waiting = 0
        self._sending = threading.Lock()
        self._rest: bytes | None = None
        self._is_lost = False
        self._descriptor = _descriptor(transport)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send this, at the latest when the loop has done what it is doing."""
        with self._sending:  # so that what another thread is sending is sent
            if self._rest is not None:
                return
        self._pieces.append(data)
        self._waiting += len(data)
        if self._waiting >= FULL:  # so that the transport can say when it has enough
            self.flush()
        elif len(self._pieces) == 1:
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Send what was written."""
        if self._pieces:
            pieces, self._pieces, self._waiting = self._pieces, [], 0
            self._transport.write(pieces[0] if len(pieces) == 1 else b"".join(pieces))

    def response_ended(self) -> None:
        """Send what was written of a response, or what is left of one that was sent at once."""
        self.flush()
        with self._sending:
            rest, self._rest = self._rest, None
        if rest:
            self._transport.write(rest)

    def close(self) -> None:
        """Send what was written, and close the connection."""
        self.response_ended()
        self._transport.close()

    def may_send_at_once(self) -> bool:
        """Whether all that was written is sent, so that another thread may send a response."""
        return (
            self._descriptor is not None
            and not self._pieces
            and not self._transport.get_write_buffer_size()
        )

    @property
    def has_sent_at_once(self) -> bool:
        """Whether another thread sends or has sent a response that the loop has not heard of."""
        return self._rest is not None

    def send_at_once(self, data: bytes, may: Callable[[], bool]) -> bool:
        """As `AtOnce.send`, of the bytes of the response."""
        with self._sending:
            if self._is_lost or self._descriptor is None or not may():
                return False
            self._rest = data  # first, since the client may answer while it is written
            try:
                sent = send(self._descriptor, data)
            except OSError:  # it takes nothing now, or is closed: the loop will see
                sent = 0
            self._rest = data[sent:]
        return True

    def lost(self) -> None:
        """Hear that the descriptor is about to be closed."""
        with self._sending:
            self._is_lost = True

    def set_protocol(self, protocol: Any) -> None:
        """Hand the connection over to another protocol."""
        self.flush()
        self._transport.set_protocol(protocol)


class ResponseAtOnce:
    """The response of one of uvicorn's requests, as `AtOnce`."""

    def __init__(self, cycle: Any, transport: GatheringTransport) -> None:
        self._cycle = cycle
        self._transport = transport

    def send(self, headers: Sequence[Header], body: bytes, may: Callable[[], bool]) -> bool:
        """Send a response of status 200, in any thread."""
        head = [b"%b: %b\r\n" % header for header in (*self._cycle.default_headers, *headers)]
        if not self._cycle.keep_alive:
            head.append(b"connection: close\r\n")
        return self._transport.send_at_once(
            b"".join((b"HTTP/1.1 200 OK\r\n", *head, b"\r\n", body)), may
        )

    def ended(self) -> None:
        """Have uvicorn take it for sent, as its `send` does with the last piece of a body."""
        cycle = self._cycle
        if cycle.disconnected:
            return
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        if not cycle.keep_alive:
            self._transport.close()
        cycle.on_response()


def _take_body(cycle: Any) -> bytes:
    """The body of a request that is there whole, as uvicorn's `receive` gives it in one message."""
    body = bytes(cycle.body)
    cycle.body = bytearray()
    cycle.message_event.clear()  # what is asked for next is the client's end
    cycle.flow.resume_reading()
    return body


class SharedTimers:
    """The loop, but that all timers of a server's connections are one.

    uvicorn sets a timer after each response, and cancels it when the next request comes.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, alarms: Alarms) -> None:
        self._loop = loop
        self.call_later = alarms.call_later

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)


def _descriptor(transport: Any) -> int | None:
    """The descriptor of a connection whose bytes go out as they are, without blocking."""
    if sys.platform == "win32" or transport.get_extra_info("sslcontext") is not None:
        return None
    connected = transport.get_extra_info("socket")
    return None if connected is None else int(connected.fileno())


def counted_protocol(door: Counts) -> type[asyncio.Protocol]:
    """uvicorn's protocol of HTTP/1.1, whose connections are told to a door.

    uvicorn has `timeout_keep_alive` for the time between two requests, and nothing for a client
    that never ends its first header, nor for a header that has no end.
    """

    alarms = Alarms()
    bounds_headers = not hasattr(AutoHTTPProtocol, "on_body")  # h11 does, httptools does not

    class CountedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]  # chosen as it runs
        """`_begun` is a request that begins to be answered once all that came is read, and `_early`
        what came before the loop has heard of a response that another thread has sent.

        `_gone` is what is called where the client goes before its request is answered, and
        `_is_lost` says that the client has. `_beside_body` are the bytes that came since a body's
        last, or since the last request ended.
        """

        _beside_body = 0
        _is_reading = False
        _is_lost = False
        _gone: Callable[[], object] | None = None
        _begun: tuple[Any, Any] | None = None

        @property
        def awaits_header(self) -> bool:
            """Whether the server waits for the header of a request."""
            cycle = self.cycle
            return cycle is None or bool(cycle.response_complete)

        @property
        def awaits_body(self) -> bool:
            """Whether the server waits for the rest of a body."""
            cycle = self.cycle
            return cycle is not None and not cycle.response_complete and bool(cycle.more_body)

        def turn_away(self, answer: bytes) -> None:
            """Close the connection; with this answer where it has begun to send a request."""
            if self.cycle is None or not self.cycle.response_complete:
                self.transport.write(answer)
            self.transport.close()

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(GatheringTransport(transport))
            self.loop: Any = SharedTimers(asyncio.get_running_loop(), alarms)
            self.app: Any = partial(self._asked, self.app)
            self._early: list[bytes] = []
            door.opened(self)

        def on_header(self, name: bytes, value: bytes) -> None:
            """Take a header; httptools leaves the blanks behind a value, which do not count.

            For all but one it does what uvicorn's does, which is not called for each of them.
            """
            name, value = name.lower(), value.rstrip(b" \t")
            if name == b"expect":
                super().on_header(name, value)
            else:
                self.headers.append((name, value))

        def data_received(self, data: bytes) -> None:
            if self._early or self.transport.has_sent_at_once:
                self._early.append(data)  # else uvicorn would take it for a second request at once
                return
            self._is_reading = True
            self._beside_body += len(data)
            super().data_received(data)
            self._is_reading = False
            if bounds_headers or not self._is_within_request():
                self._beside_body = 0
            elif self._beside_body > LONGEST_HEADER:
                self._refuse_header()
                return
            door.heard(self)
            if self._begun is not None:
                (cycle, app), self._begun = self._begun, None
                self._begin_to_answer(cycle, app)
            if self._gone is not None and self.flow.read_paused:
                # Else nobody would see the client go, who has sent the next request already.
                self.loop.call_later(READ_AGAIN, self.flow.resume_reading)

        def on_body(self, body: bytes) -> None:
            """Take a piece of a body."""
            self._beside_body = 0
            super().on_body(body)

        def _is_within_request(self) -> bool:
            """Whether a request has begun that has not come to its end."""
            if self.scope is None:
                return False
            if self.cycle is None or self.cycle.scope is not self.scope:
                return True  # its header has not ended
            return bool(self.cycle.more_body)

        def _refuse_header(self) -> None:
            """Close the connection of a header, or of what stands behind a body, without an end."""
            if self.cycle is None or self.cycle.response_complete:
                self.transport.write(TOO_LONG)
            self.transport.close()

        def _read_early(self) -> None:
            early, self._early = self._early, []
            self.data_received(b"".join(early))

        def _start_asgi_task(self, cycle: Any, app: Any) -> None:
            """Have a request answered; one that comes in now, together with what came of its body.

            A task that begins at once must not begin another: requests may come by the thousand.
            """
            if self._is_reading:
                self._begun = cycle, app
            else:
                super()._start_asgi_task(cycle, app)

        def _begin_to_answer(self, cycle: Any, app: Any) -> None:
            if self.transport.may_send_at_once():
                cycle.scope[AT_ONCE] = ResponseAtOnce(cycle, self.transport)
            if not (cycle.more_body or cycle.waiting_for_100_continue):
                cycle.scope[WHOLE_BODY] = partial(_take_body, cycle)
            task = eager.start(self._run(cycle, app))
            if not task.done():
                self.tasks.add(task)

        async def _run(self, cycle: Any, app: Any) -> None:
            try:
                await cycle.run_asgi(app)
            finally:
                cycle.scope.pop(AT_ONCE, None)  # which holds the cycle, as that does its scope
                cycle.scope.pop(WHOLE_BODY, None)
                self.tasks.discard(asyncio.current_task(alarms.loop))

        def _asked(self, app: Any, scope: Any, receive: Any, send: Any) -> Any:
            """Have the application asked, which may hear of the client's end."""
            scope[ON_GONE] = self._on_gone
            return app(scope, receive, send)

        def _on_gone(self, call: Callable[[], object] | None) -> None:
            """As `OnGone`."""
            self._gone = call
            if call is not None and self._is_lost:
                call()

        def on_response_complete(self) -> None:
            self.transport.response_ended()
            super().on_response_complete()
            door.heard(self)
            if self._early:
                self.loop.call_soon(self._read_early)

        def connection_lost(self, exc: Exception | None) -> None:
            self.transport.lost()
            self._is_lost = True
            if self._gone is not None:
                self._gone()
            door.closed(self)
            super().connection_lost(exc)

    return CountedProtocol
