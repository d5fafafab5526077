"""One client on standard input and output: our link as the SDK's pair of message streams."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal

import mcp_types as types
from mcp.server import runner
from mcp.server.lowlevel.server import Server
from mcp.shared.message import ServerMessageMetadata, SessionMessage

from ....startup.frames import Line, TooLong
from ....startup.protocol import MODERN_VERSION
from ...adapter import Adapter
from ...borrowed.sdk import serve_modern_stream
from ...lane.stdio import StdioLane
from .faults import Fault, fault, has_id, too_long
from .link import StdioLink
from .sdk_stream import SdkStream

AHEAD = 8
OTHER_ERA = f"this conversation began with a handshake, and takes no envelope of {MODERN_VERSION}"


class StdioSession(SdkStream):
    """A link as the SDK's pair of message streams.

    `opening` are lines that the SDK sees before those of the link, and the lane does not.
    """

    def __init__(
        self,
        link: StdioLink,
        adapter: Adapter,
        drained: Callable[[], Any],
        *,
        lane: StdioLane | None = None,
        opening: Iterable[Line] = (),
    ) -> None:
        self._link = link
        self._adapter = adapter
        self._drained = drained
        self._ahead: deque[SessionMessage] = deque()
        self._serves_handshake = False
        self._opening = deque(opening)
        self._lane = lane
        if lane is None and adapter.lane is not None:
            self._lane = StdioLane(adapter.lane, link, adapter.connections.stdio)

    async def era(self) -> Literal["handshake", "modern"] | None:
        """Which era the client's first request opens; None where none comes.

        What was read up to it is read again; of more than `AHEAD` earlier frames the rest is lost.
        """
        while True:
            try:
                item = await self._next()
            except StopAsyncIteration:
                return None
            is_request = isinstance(item.message, types.JSONRPCRequest)
            if is_request or len(self._ahead) < AHEAD:
                self._ahead.append(item)
            if isinstance(item.message, types.JSONRPCRequest):
                self._serves_handshake = not _opens_modern(item.message)
                if self._lane is not None:
                    self._lane.is_modern = not self._serves_handshake
                return "handshake" if self._serves_handshake else "modern"

    async def __anext__(self) -> SessionMessage:
        return self._ahead.popleft() if self._ahead else await self._next()

    async def _next(self) -> SessionMessage:
        while True:
            is_first = bool(self._opening)
            lane = self._lane.takes if self._lane is not None else None
            line = self._opening.popleft() if is_first else await self._link.next_line(lane)
            if line is None:
                self._link.lines.put_nowait(None)  # the SDK asks again where nothing came at all
                self._adapter.stop_asking()
                self._adapter.close_streams()
                await self._drained()
                await self.close()
                raise StopAsyncIteration
            if not line:
                continue  # it told that the SDK is there, and came after another reason for it
            if isinstance(line, TooLong):
                self._refuse(too_long(line, self._adapter.host.settings.host.max_message_bytes))
                continue
            if self._lane is not None and not is_first and self._lane.takes(line):
                continue
            message = self._message(line)
            if isinstance(message, types.JSONRPCRequest):
                # Told also when the SDK answers nothing, as to a cancelled request.
                unanswered = partial(self._unanswered, message.id)
                metadata = ServerMessageMetadata(on_request_unanswered=unanswered)
                return SessionMessage(message, metadata=metadata)
            if message is not None:
                return SessionMessage(message)

    def _message(self, line: bytes) -> types.JSONRPCMessage | None:
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self._refuse(fault(line))
            return None
        if isinstance(message, types.JSONRPCNotification) and has_id(line):
            self._refuse(fault(line))  # the model takes it for a notification
            return None
        if not isinstance(message, types.JSONRPCRequest):
            return message
        if self._serves_handshake and _opens_modern(message):
            said = f"Invalid request: {OTHER_ERA}"
            self._refuse(Fault(message.id, types.INVALID_REQUEST, said))
            return None
        if self._link.accepted(message.id):
            return message
        self._refuse(Fault(message.id, types.INVALID_REQUEST, "This id is in use already"))
        return None

    async def close(self) -> None:
        """End what runs in the lane still."""
        if self._lane is not None:
            await self._lane.close()

    async def _unanswered(self, request_id: str | int) -> None:
        self._link.answered(request_id)

    def _refuse(self, wrong: Fault) -> None:
        error = {"code": wrong.code, "message": wrong.message}
        frame = {"jsonrpc": "2.0", "id": wrong.request_id, "error": error}
        self._link.post(json.dumps(frame).encode())  # who does not read is listened to all the same

    async def send(self, item: SessionMessage) -> None:
        message = item.message
        answers = None
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            answers = message.id
        if answers is None or not self._link.was_answered(answers):
            frame = message.model_dump_json(by_alias=True, exclude_unset=True)
            await self._link.write(frame.encode())
        if answers is not None:
            self._link.answered(answers)


def _opens_modern(request: types.JSONRPCRequest) -> bool:
    """Whether a request carries the envelope of 2026-07-28, or a part of it."""
    meta = (request.params or {}).get("_meta")
    has_envelope = isinstance(meta, dict) and types.PROTOCOL_VERSION_META_KEY in meta
    return has_envelope and request.method != "initialize"


async def run(server: Server[Any], session: StdioSession) -> None:
    """Serve one session until its input ends, as the SDK's `Server.run` does."""
    era = await session.era()
    if era == "handshake":
        options = server.create_initialization_options()
        await runner.serve_loop(server, session, session, lifespan_state={}, init_options=options)
    elif era == "modern":
        await serve_modern_stream(server, session)
