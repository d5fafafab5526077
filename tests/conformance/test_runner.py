"""The runner itself: it must call good what is, and nothing else."""

import asyncio
import importlib
import json
import os
import sys
from pathlib import Path
from types import ModuleType

import httpx2
import pytest

pytestmark = pytest.mark.anyio

ECHO = """
import json, sys
for line in sys.stdin:
    said = json.loads(line)
    if "id" in said and said["method"] != "silence":
        answer = {"jsonrpc": "2.0", "id": said["id"], "result": said["params"]}
        print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def beside_the_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)


@pytest.fixture
def suite() -> ModuleType:
    return importlib.import_module("suite")


@pytest.fixture
def replay() -> ModuleType:
    return importlib.import_module("replay")


def write_checks(results: Path, *statuses: str) -> Path:
    scenario = results / "server-ping"
    scenario.mkdir()
    checks = [{"id": f"check-{s}", "status": s, "description": "…"} for s in statuses]
    (scenario / "checks.json").write_text(json.dumps(checks), encoding="utf-8")
    return results


def test_a_check_that_vanishes_is_a_failure(suite: ModuleType, tmp_path: Path) -> None:
    verdict = suite.verdict(write_checks(tmp_path, "SUCCESS", "INFO"), said="")
    assert verdict.meets(1)
    assert not verdict.meets(2)


def test_a_check_that_only_warns_counts_as_failed(suite: ModuleType, tmp_path: Path) -> None:
    verdict = suite.verdict(write_checks(tmp_path, "SUCCESS", "WARNING"), said="")
    assert str(verdict) == "1 passed, 1 failed"
    assert not verdict.meets(1)
    assert verdict.failures == ("WARNING server-ping: check-WARNING: …",)


def recorded(
    replay: ModuleType, asked: dict[str, object], answer: dict[str, object]
) -> list[object]:
    """A recording of one legacy session with one request."""
    relay = importlib.import_module("relay")
    exchange = relay.Exchange("POST", session="s")
    return [
        relay.Line(exchange, "client", {"jsonrpc": "2.0", "id": 7, "method": "echo"} | asked),
        relay.Line(exchange, "server", {"jsonrpc": "2.0", "id": 7} | answer),
    ]


async def test_an_answer_that_differs_over_stdio_is_shown_with_both_texts(
    replay: ModuleType,
) -> None:
    lines = recorded(replay, {"params": {"n": 1}}, {"result": {"n": 2}})
    played = await replay.replay(lines, [sys.executable, "-c", ECHO], dict(os.environ))
    assert not played.good
    assert str(played) == "1 requests replayed, 0 equal"
    assert '"n": 2' in played.differences[0]
    assert '"n": 1' in played.differences[0]


async def test_an_answer_that_never_comes_over_stdio_is_a_difference(
    replay: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "PATIENCE", 0.5)
    lines = recorded(replay, {"method": "silence"}, {"result": {}})
    played = await replay.replay(lines, [sys.executable, "-c", ECHO], dict(os.environ))
    assert not played.good
    assert played.differences[0].startswith("stdio never said")


async def test_answers_are_equal_when_only_ids_and_sealed_states_differ(
    replay: ModuleType,
) -> None:
    here = {
        "_meta": {"mcp-host/request-id": "0b1f7a3e-6a0e-4f0e-8a53-0c5b2d9e7a11"},
        "requestState": "a",
    }
    there = {
        "_meta": {"mcp-host/request-id": "d3b0c8f2-1c9e-4a57-9d3b-7f1e2a6c5b40"},
        "requestState": "b",
    }
    lines = recorded(replay, {"params": here}, {"result": there})
    played = await replay.replay(lines, [sys.executable, "-c", ECHO], dict(os.environ))
    assert played.good


async def test_a_request_whose_end_the_recording_does_not_tell_is_shown(replay: ModuleType) -> None:
    asked, _ = recorded(replay, {"params": {"n": 1}}, {})
    played = await replay.replay([asked], [sys.executable, "-c", ECHO], dict(os.environ))

    assert not played.good
    [difference] = played.differences
    assert difference.startswith("HTTP never answered, and nobody hung up: ")
    assert '"method": "echo"' in difference


async def test_a_session_that_its_client_ends_before_the_answer_is_recorded_as_hung_up(
    replay: ModuleType,
) -> None:
    relays = importlib.import_module("relay")
    ended = asyncio.Event()

    async def host(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (await reader.readuntil(b"\r\n\r\n")).startswith(b"DELETE"):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            ended.set()
        else:
            writer.write(
                b"HTTP/1.1 200 OK\r\nmcp-session-id: s\r\ncontent-type: text/event-stream\r\n"
                b"connection: close\r\n\r\n"
            )
            await ended.wait()
        writer.close()

    async with await asyncio.start_server(host, "127.0.0.1", 0) as upstream:
        relay = relays.Relay(f"127.0.0.1:{upstream.sockets[0].getsockname()[1]}")
        async with relay.listening() as address, httpx2.AsyncClient(trust_env=False) as client:
            url = f"http://{address}/mcp"
            asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
            async with client.stream("POST", url, json=asked) as answer:
                session = {"mcp-session-id": answer.headers["mcp-session-id"]}
                await client.delete(url, headers=session)

    assert [line.speaker for line in relay.lines] == ["client", "hung up"]
    played = await replay.replay(relay.lines, [sys.executable, "-c", ECHO], dict(os.environ))
    assert not played.differences


def test_what_the_suite_skips_is_named_and_must_be_known(suite: ModuleType, tmp_path: Path) -> None:
    results = write_checks(tmp_path, "SUCCESS", "SKIPPED")
    verdict = suite.verdict(results, said="")

    assert str(verdict) == "1 passed, 0 failed, skipped check-SKIPPED"
    assert not verdict.meets(1)
    file = next(results.glob("*/checks.json"))
    file.write_text(file.read_text().replace("check-SKIPPED", "tasks-status-notifications"))
    assert suite.verdict(results, said="").meets(1)
