"""From a usual request to the frame of its answer."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic_core import to_json

from ...declarations.context import Caller, ClientChannel
from ...errors import INTERNAL_ERROR, Cancelled, ProtocolError
from ...host import Host
from ...middleware.call import UNASKED, Asking, AtOnce
from ...packs.access import is_challenged
from ...packs.entry import Entry
from ...runtime.messages import Answered
from ...settings.loading import Settings
from ...startup.dataclass import dataclass
from ...startup.protocol import META, MODERN_VERSION
from . import frames
from .requests import Usual

VARIABLE = "MCP_HOST_LANE"
"""Of the environment; where it is 0, every request goes through the SDK."""
log = logging.getLogger("mcp_host.server")

ASKED = frozenset(("elicitation", "elicitation.url", "sampling", "roots"))
"""What a client offers that can be asked: a call that may ask it is the SDK's."""
SERVER_INFO = META + "serverInfo"
CORE_RESULTS = ("complete", "input_required")
"""What `resultType` says of the protocol's own answers; others are an extension's, kept as is."""
PONG = Answered(b"{}", is_wire=True)


async def _nobody(question: Mapping[str, Any]) -> Mapping[str, Any]:
    """Stand for a client that is never asked: it offers nothing that can be."""
    raise Cancelled("This client cannot be asked", details={"reason": "client_gone"})


async def _pong() -> Answered:
    """Answer a ping, which no pack hears of."""
    return PONG


_LIVE = Asking(ask=_nobody)
"""How clients of the handshake era are asked, of whom the lane takes those that cannot be."""


@dataclass(frozen=True, slots=True)
class AnswerFrame:
    """The frame of an answer; `error` is its JSON-RPC code where it is an error."""

    frame: bytes
    error: int | None = None


class Lane:
    """Answers usual requests for one host.

    `info` is what the server tells of itself.
    """

    def __init__(self, host: Host, info: Mapping[str, str]) -> None:
        self._host = host
        self._info = info
        self._stamp = frames.stamp(SERVER_INFO, info)
        self._plain_headers: dict[str, tuple[object, bool]] = {}
        self._sieve: Callable[..., dict[str, Any]] | None = None

    def takes(self, request: Usual, caller: Caller) -> bool:
        """Whether the answer to a request can be given here: it is there, and asks nobody."""
        entry = self._entry(request, caller)
        return request.method == "ping" or (
            entry is not None
            and not (caller.offers & ASKED and self._host.may_ask(entry))
            and not (caller.offered is not None and _is_of_scopes(entry, caller))
        )

    def takes_headers(self, request: Usual) -> bool:
        """Whether no argument of a call is to stand in a header of its own as well."""
        if request.method != "tools/call":
            return True
        schema = self._host.input_schema(request.name)
        known = self._plain_headers.get(request.name)
        if known is None or known[0] is not schema:
            known = self._plain_headers[request.name] = (schema, "x-mcp-header" not in str(schema))
        return known[1]

    async def answer(self, request: Usual, caller: Caller, channel: ClientChannel) -> AnswerFrame:
        """Answer a request that `takes` has taken; no exception but cancellation comes out."""
        return self.frame(request, caller, await self.outcome(request, caller, channel))

    async def outcome(
        self,
        request: Usual,
        caller: Caller,
        channel: ClientChannel,
        at_once: AtOnce | None = None,
    ) -> Answered | Exception:
        """How a request ended that `takes` has taken, for `frame`."""
        try:
            outcome = await self.call(request, caller, channel, at_once)
            if not outcome.is_wire:
                await self.prepare()
        except Exception as error:
            return error
        return outcome

    async def prepare(self) -> None:
        """Have what `frame` needs for an answer that is not the protocol's as it is."""
        if self._sieve is None:
            self._sieve = await asyncio.to_thread(_import_sieve)

    def call(
        self,
        request: Usual,
        caller: Caller,
        channel: ClientChannel,
        at_once: AtOnce | None = None,
    ) -> Awaitable[Answered]:
        """Have the host answer a request that `takes` has taken; raises what the host raises."""
        if request.method == "ping":
            return _pong()
        host, context = self._host, self._host.context(caller, channel)
        asking = UNASKED if caller.protocol == MODERN_VERSION else _LIVE
        if request.method == "tools/call":
            return host.call_tool(request.name, request.arguments, context, asking, at_once)
        if request.method == "prompts/get":
            return host.get_prompt(request.name, request.arguments, context, asking, at_once)
        return host.read(request.name, context, asking, at_once)

    def frame_at_once(self, request: Usual, caller: Caller, answered: Answered) -> bytes | None:
        """The frame of an answer, in any thread; None where it is not known to be fit."""
        return self._result_frame(request, caller, answered) if answered.is_wire else None

    def frame(self, request: Usual, caller: Caller, outcome: Answered | Exception) -> AnswerFrame:
        """The answer that tells how a call ended."""
        if isinstance(outcome, Answered):
            if outcome is PONG:
                return AnswerFrame(frames.result(request.id, outcome.body))
            try:
                return AnswerFrame(self._result_frame(request, caller, outcome))
            except Exception as error:
                outcome = error
        if isinstance(outcome, ProtocolError):
            told = frames.error(request.id, outcome.number, str(outcome), outcome.data)
            return AnswerFrame(told, outcome.number)
        log.error("%s failed", request.method, exc_info=outcome)
        return AnswerFrame(
            frames.error(request.id, INTERNAL_ERROR, "Internal error"), INTERNAL_ERROR
        )

    def _entry(self, request: Usual, caller: Caller) -> Entry | None:
        catalog = self._host.catalog
        if request.method == "tools/call":
            return catalog.find("tools", request.name, caller)
        if request.method == "prompts/get":
            return catalog.find("prompts", request.name, caller)
        if request.method != "resources/read":
            return None
        return catalog.resource(request.name, caller)[0]

    def _result_frame(self, request: Usual, caller: Caller, answered: Answered) -> bytes:
        is_modern = caller.protocol == MODERN_VERSION
        if not answered.is_wire:
            return self._sieved_frame(request, caller.protocol, is_modern, answered)
        if is_modern:
            return frames.modern_result(request.id, answered.body, self._stamp)
        return frames.result(request.id, answered.body)

    def _sieved_frame(
        self, request: Usual, version: str, is_modern: bool, answered: Answered
    ) -> bytes:
        """The frame of an answer that the pack's side could not vouch for."""
        if self._sieve is None:
            self._sieve = _import_sieve()  # where the SDK is there already
        if answered.code == "input_required":
            raise RuntimeError(f"{request.name} asks what it did not declare")
        data = {"resultType": "complete", **answered.data} if is_modern else answered.data
        if is_modern and data["resultType"] not in CORE_RESULTS:
            data.setdefault("_meta", {}).setdefault(SERVER_INFO, self._info)
            return frames.result(request.id, to_json(data, inf_nan_mode="null"))
        try:
            data = self._sieve(request.method, version, data)
        except ValueError:
            log.exception("the answer of %s is not what the protocol takes", request.name[:200])
            raise ProtocolError(INTERNAL_ERROR, "Handler returned an invalid result") from None
        if is_modern and data["_meta"].get(SERVER_INFO) is None:
            data["_meta"] = {**data["_meta"], SERVER_INFO: self._info}
        return frames.result(request.id, to_json(data, inf_nan_mode="null"))


def _is_of_scopes(entry: Entry, caller: Caller) -> bool:
    """Whether HTTP itself may have to answer, for a scope that the caller's token lacks."""
    return entry.is_hosts_tool or is_challenged(entry, caller)


def _import_sieve() -> Callable[..., dict[str, Any]]:
    """Import what makes an answer what the protocol takes; waits for others that import the SDK."""
    from mcp_types.methods import serialize_server_result  # a part of the SDK

    return serialize_server_result


def lane_of(host: Host, info: Mapping[str, str]) -> Lane | None:
    """The lane of a host; None where every request is to go through the SDK."""
    return Lane(host, info) if is_lane_on(host.settings) else None


def is_lane_on(settings: Settings) -> bool:
    """Whether usual requests go without the SDK; not where it makes spans for OpenTelemetry."""
    return settings.host.lane and os.environ.get(VARIABLE) != "0" and not is_traced()


def is_traced() -> bool:
    """Whether OpenTelemetry was set up: its API alone makes spans that go nowhere, 30 µs a call."""
    trace = sys.modules.get("opentelemetry.trace")
    return trace is not None and not isinstance(
        trace.get_tracer_provider(), trace.ProxyTracerProvider
    )
