"""OpenTelemetry by the MCP conventions, where the settings want it or somebody has set it up.

The SDK makes a span of every message; here it learns of the pack, and durations are measured.
https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ..host import Host
from ..packs.entry import What
from ..packs.search_tools import CALL, CALL_READ_ONLY
from ..settings.loading import Settings
from ..startup.version import VERSION
from .requests import Ctx, headers

if TYPE_CHECKING:
    from .connections import Connections

log = logging.getLogger("mcp_host.server")

DURATION = "mcp.server.operation.duration"
BUCKETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
"""The boundaries in seconds that the conventions name."""
PACK = "mcp_host.pack"
"""The attribute that tells whose a tool, prompt or resource is."""
CALLED = "mcp_host.called_tool"
"""The tool that one of the host's own tools was to call."""
FLUSH_MS = 2000
"""Milliseconds that the last spans may take to be sent."""
LISTS: Mapping[str, tuple[What, str]] = {
    "tools/call": ("tools", "gen_ai.tool.name"),
    "prompts/get": ("prompts", "gen_ai.prompt.name"),
}
METHODS = frozenset(
    (
        *("initialize", "server/discover", "ping", "completion/complete", "logging/setLevel"),
        *("tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list"),
        *("resources/read", "resources/templates/list", "resources/subscribe"),
        *("resources/unsubscribe", "subscriptions/listen", "notifications/initialized"),
        *("notifications/cancelled", "notifications/progress"),
        "notifications/roots/list_changed",
    )
)
OTHER = "_OTHER"
"""What a method is called that nobody knows: a client may send any number of such."""
NAME_LENGTH = 200


def set_up(settings: Settings) -> None:
    """Set OpenTelemetry up as its variables `OTEL_…` say, where the settings want it.

    What has been set up already, as `opentelemetry-instrument` does, stays.
    """
    if settings.http.metrics:
        _measure(settings)
    if not settings.host.telemetry:
        return
    from opentelemetry import metrics, trace

    if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log.warning('[host] telemetry has no exporter: pip install "mcp-host[otel]"')
        return
    resource = Resource.create(_about())
    tracing = TracerProvider(resource=resource)
    tracing.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(tracing)
    if settings.http.metrics:
        return  # there are readers already
    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    metrics.set_meter_provider(MeterProvider(resource=resource, metric_readers=[reader]))


def _measure(settings: Settings) -> None:
    """Set up what Prometheus reads, and with `telemetry` what is sent as well."""
    from opentelemetry import metrics
    from opentelemetry.exporter.prometheus import PrometheusMetricReader
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource

    readers: list[Any] = [PrometheusMetricReader()]
    if settings.host.telemetry:
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        except ImportError:
            pass  # the traces say it
        else:
            readers.append(PeriodicExportingMetricReader(OTLPMetricExporter()))
    provider = MeterProvider(resource=Resource.create(_about()), metric_readers=readers)
    metrics.set_meter_provider(provider)


def _about() -> dict[str, str]:
    """What the service is called, where the variables do not say."""
    named = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "mcp-host"}
    return {**named, "service.version": VERSION}


def flush() -> None:
    """Send what has not been sent, as far as that can be done in time; in any thread."""
    api = sys.modules.get("opentelemetry")
    if api is None:
        return
    from opentelemetry import metrics, trace

    for provider in (trace.get_tracer_provider(), metrics.get_meter_provider()):
        send = getattr(provider, "force_flush", None)
        if send is not None:
            send(FLUSH_MS)


class Telemetry:
    """The SDK's middleware, within the one that makes spans: tells of packs, and measures."""

    def __init__(self, host: Host, connections: Connections) -> None:
        from opentelemetry import metrics, trace

        self._host = host
        self._connections = connections
        self._current_span = trace.get_current_span
        self._duration = metrics.get_meter("mcp_host", VERSION).create_histogram(
            DURATION,
            unit="s",
            description="How long a request or notification took, from its receipt to its answer.",
            explicit_bucket_boundaries_advisory=BUCKETS,
        )

    async def __call__(self, ctx: Ctx, call_next: Any) -> Any:
        began = perf_counter()
        told = self._told(ctx)
        span = self._current_span()
        span.set_attributes({**told, **self._of_span(ctx)})
        error = ""
        try:
            result = await call_next(ctx)
            if isinstance(result, dict) and result.get("isError"):
                error = "tool_error"
            return result
        except Exception as raised:
            data = getattr(raised, "error", None)
            error = str(getattr(data, "code", type(raised).__qualname__))
            if data is not None:
                told["rpc.response.status_code"] = error
            raise
        finally:
            if error:
                told["error.type"] = error
            self._duration.record(perf_counter() - began, told)

    def _told(self, ctx: Ctx) -> dict[str, Any]:
        """What metrics and spans have in common; few values each, whatever clients send."""
        told: dict[str, Any] = {
            "mcp.method.name": ctx.method if self._is_known(ctx.method) else OTHER,
            "mcp.protocol.version": ctx.protocol_version,
            "network.transport": "pipe" if ctx.request is None else "tcp",
        }
        if ctx.request is not None:
            told["network.protocol.name"] = "http"
        if ctx.method == "tools/call":
            told["gen_ai.operation.name"] = "execute_tool"
        caller, params = self._connections.caller(ctx), ctx.params or {}
        if ctx.method == "resources/read":
            pack = self._host.owner(str(params.get("uri")), caller)
            return told if pack is None else {**told, PACK: pack}
        if ctx.method not in LISTS:
            return told
        what, key = LISTS[ctx.method]
        entry = self._host.catalog.find(what, str(params.get("name")), caller)
        if entry is not None:  # any other name is whatever its sender wrote
            told |= {key: entry.name, PACK: entry.pack}
            if entry.is_hosts_tool and entry.target in (CALL, CALL_READ_ONLY):
                given = params.get("arguments") or {}
                called = self._host.catalog.find("tools", str(given.get("name")), caller)
                if called is not None:
                    told |= {PACK: called.pack, CALLED: called.name}
        return told

    def _is_known(self, method: str) -> bool:
        return method in METHODS or method in self._host.catalog.methods

    def _of_span(self, ctx: Ctx) -> dict[str, str]:
        session = headers(ctx).get("mcp-session-id")
        return {} if session is None else {"mcp.session.id": session[:NAME_LENGTH]}
