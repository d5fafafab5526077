"""Spans and durations reach a real receiver of OTLP, with the pack, the tool and the trace."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from core_home import Home
from core_web import Web
from mcp_host.testing import StdioClient
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from warm_home import WarmHome

pytestmark = pytest.mark.anyio

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SETTINGS = "[host]\ntelemetry = true\n[packs.desk]\n"


class Collector:
    """Takes what a host sends, and decodes it."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.spans: list[Any] = []
        self.points: dict[str, list[Any]] = {}

    def take(self, path: str, body: bytes) -> None:
        if path == "/v1/traces":
            traces = ExportTraceServiceRequest.FromString(body)
            self.spans += [
                span
                for whole in traces.resource_spans
                for scope in whole.scope_spans
                for span in scope.spans
            ]
        elif path == "/v1/metrics":
            metrics = ExportMetricsServiceRequest.FromString(body)
            for whole in metrics.resource_metrics:
                for scope in whole.scope_metrics:
                    for metric in scope.metrics:
                        self.points[metric.name] = list(metric.histogram.data_points)

    def span(self, name: str) -> Any:
        return next(span for span in self.spans if span.name == name)


@contextmanager
def collecting() -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.take(self.path, body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector = Collector(server.server_address[1])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()


def told(of: Any) -> dict[str, Any]:
    return {one.key: one.value.string_value for one in of.attributes}


async def traced_call(client: StdioClient, name: str) -> Any:
    meta = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
    return await client.request("tools/call", {"name": name, "arguments": {}, "_meta": meta})


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
async def test_a_call_is_a_part_of_its_clients_trace_and_names_its_pack(
    home: Home, protocol: str
) -> None:
    home.write(SETTINGS, "host.toml")
    with collecting() as collector:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        async with home.stdio("--config", "host.toml", protocol=protocol, env=env) as client:
            good = await traced_call(client, "desk_who_am_i")
            bad = await client.call("desk_crash")
            await client.end_input()
        assert not good.get("isError")
        assert bad["isError"]

    span = collector.span("tools/call desk_who_am_i")
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
    assert span.kind == Span.SPAN_KIND_SERVER
    known = {
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "desk_who_am_i",
        "gen_ai.operation.name": "execute_tool",
        "mcp.protocol.version": protocol,
        "mcp_host.pack": "desk",
        "network.transport": "pipe",
    }
    assert known.items() <= told(span).items()
    points = {
        told(p).get("gen_ai.tool.name"): p
        for p in collector.points["mcp.server.operation.duration"]
    }
    assert known == told(points["desk_who_am_i"])
    assert points["desk_who_am_i"].count == 1
    assert list(points["desk_who_am_i"].explicit_bounds)[:3] == [0.01, 0.02, 0.05]
    assert told(points["desk_crash"])["error.type"] == "tool_error"


@pytest.mark.skipif(sys.platform != "linux", reason="the warm host is there on Linux")
async def test_a_session_of_the_warm_host_sends_as_well(home: Home) -> None:
    home.write(SETTINGS + 'sessions = "shared"\n')
    warm = WarmHome(home)
    try:
        with collecting() as collector:
            env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
            await warm.learn(env=env)
            async with warm.stdio(env=env) as client:
                await traced_call(client, "desk_who_am_i")
                await client.end_input()
            assert (warm.alone(), len(warm.hosts())) == ("", 1)
    finally:
        warm.end()

    span = collector.span("tools/call desk_who_am_i")
    assert (span.trace_id.hex(), told(span)["mcp_host.pack"]) == (TRACE, "desk")
    assert collector.points["mcp.server.operation.duration"]


async def test_a_call_that_a_search_led_to_names_the_tool_that_was_called(home: Home) -> None:
    home.write('[host]\ntelemetry = true\nexpose = "search"\n[packs.desk]\n', "host.toml")
    with collecting() as collector:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        async with home.http("--config", "host.toml", env=env) as server:
            async with Web(server.url) as web:
                await web.ask("tools/call", name="host_call", arguments={"name": "desk_who_am_i"})
            await server.signal()

    about = told(collector.span("tools/call host_call"))
    assert (about["mcp_host.pack"], about["mcp_host.called_tool"]) == ("desk", "desk_who_am_i")
    assert about["network.transport"] == "tcp"


async def test_without_telemetry_nothing_of_it_is_imported() -> None:
    code = (
        "import sys; from mcp_host.host import Host; import mcp_host.serving.start;"
        "from mcp_host.serving.lane import lane;"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()

    assert out == b"[]\n"
