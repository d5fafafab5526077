"""What tells whoever runs a host how it is: readiness, metrics, and traces in the log."""

import logging
from collections.abc import AsyncIterator, Callable

import pytest
from core_home import Home
from core_web import Web
from mcp_host.serving.log_lines import JsonFormatter
from mcp_host.settings.secrets import Secrets
from mcp_host.testing import HttpServer
from opentelemetry import trace

TOKENS = {"ANN": "token-of-ann-0001", "BOB": "token-of-bob-0002"}
SETTINGS = """
[http]
metrics = true
tokens = [
    { token = { env = "ANN" }, subject = "ann", scopes = ["*"] },
    { token = { env = "BOB" }, subject = "bob", scopes = ["store:write"] },
]
[packs.store]
required = true
[packs.broken]
"""
STORE = '''
from contextlib import contextmanager
from mcp_host import Conflict, hookimpl, tool
from contextlib import asynccontextmanager


@tool
def lose(pack, /) -> str:
    """Say that the database is away."""
    pack.degraded("its database is away", remedy="start it", code="away")
    return "lost"


@tool
def find(pack, /) -> str:
    """Say that it is back."""
    pack.recovered()
    return "found"


@tool
def refuse() -> str:
    """Refuse."""
    raise Conflict("no")


@hookimpl
def mcp_host_tools():
    return [lose, find, refuse]


@hookimpl
def mcp_host_open(pack):
    @asynccontextmanager
    async def opened():
        yield pack

    return opened()
'''
BROKEN = """
from mcp_host import hookimpl


@hookimpl
def mcp_host_open():
    raise RuntimeError("nobody at home")
"""


@pytest.fixture(scope="module")
async def served(make_home: Callable[[], Home]) -> AsyncIterator[HttpServer]:
    """A server with a pack that must serve, and one that cannot and need not."""
    home = make_home()
    home.add_pack("store", STORE)
    home.add_pack("broken", BROKEN)
    home.write(SETTINGS)
    async with home.http("--config", "mcp-host.toml", env=TOKENS) as server:
        yield server


async def test_a_host_is_ready_as_long_as_its_required_pack_can_serve(served: HttpServer) -> None:
    async with Web(served.url, TOKENS["ANN"]) as ann:
        await ann.value("store_find")
        before = await ann.get("/readyz")
        await ann.value("store_lose")
        lost = await ann.get("/readyz")
        await ann.value("store_find")
        after = await ann.get("/readyz")

    assert [one.status_code for one in (before, lost, after)] == [200, 503, 200]
    assert before.json()["packs"] == {"ready": 1, "failed": 1}
    assert lost.json()["packs"] == {"degraded": 1, "failed": 1}


async def test_prometheus_reads_how_calls_ended_with_a_token_that_may(served: HttpServer) -> None:
    async with (
        Web(served.url, TOKENS["ANN"]) as ann,
        Web(served.url, TOKENS["BOB"]) as bob,
        Web(served.url) as nobody,
    ):
        await bob.call("store_refuse")
        refused = [(await one.get("/metrics")).status_code for one in (bob, nobody)]
        lines = (await ann.get("/metrics")).text.splitlines()

    assert refused == [403, 401]
    ended = [line for line in lines if line.startswith("mcp_host_call_duration_seconds_count")]
    (conflict,) = [line for line in ended if 'code="conflict"' in line]
    for told in ('kind="tool"', 'name="store_refuse"', 'mcp_host_pack="store"'):
        assert told in conflict
    assert conflict.endswith(" 1.0")
    states = [line for line in lines if line.startswith("mcp_host_pack_state{")]
    assert any('mcp_host_pack="broken"' in line and 'state="failed"' in line for line in states)
    assert any(line.startswith("mcp_host_calls_waiting{") for line in lines)


def test_a_line_of_the_log_carries_the_ids_of_its_trace() -> None:
    about = trace.SpanContext(0xAB, 0xCD, is_remote=False)
    record = logging.LogRecord("mcp_host", logging.INFO, "", 0, "said", (), None)
    form = JsonFormatter(Secrets())

    with trace.use_span(trace.NonRecordingSpan(about)):
        within = form.fields(record)

    assert (within["trace_id"], within["span_id"]) == (f"{0xAB:032x}", f"{0xCD:016x}")
    assert "trace_id" not in form.fields(record)
