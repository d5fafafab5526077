"""Many calls beside a pack that storms: no answer is lost, nothing grows, nothing stays behind."""

import http.client
import itertools
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness import Client, Folder

pytestmark = pytest.mark.torture

WAY = "storms.of_everything_from_ten_threads"
SETTINGS = "[host]\ngrace = 2\n[packs.neighbour]\n[packs.hostile]\n"
IN_FLIGHT = 64
CALLERS = 8
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "load", "version": "1"},
}


@dataclass(frozen=True)
class Size:
    """What a process takes: MiB, threads, descriptors."""

    memory: float
    threads: int
    descriptors: int

    @classmethod
    def of(cls, process: int) -> "Size":
        told = dict(
            line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines()
        )
        return cls(
            int(told["VmRSS"].split()[0]) / 1024,
            int(told["Threads"]),
            sum(1 for _ in Path(f"/proc/{process}/fd").iterdir()),
        )

    def has_outgrown(self, other: "Size") -> bool:
        """Whether it is larger than what a few idle threads and a fuller heap explain."""
        return (
            self.memory > other.memory + 40
            or self.threads > other.threads + 40
            or self.descriptors > other.descriptors + 10
        )


def test_a_hundred_thousand_calls_over_stdio(tmp_path: Path) -> None:
    with Folder(tmp_path, settings=SETTINGS).serve(WAY) as client:
        about = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "load", "version": "1"},
        }
        client.ask("initialize", about, 60)
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        flights(client, 5_000)
        before = Size.of(client.process.pid)

        flights(client, 100_000)

        assert not Size.of(client.process.pid).has_outgrown(before)
        assert client.garbage == []
        client.end_input()
        assert client.exit_code(60) == 0


def flights(client: Client, count: int) -> None:
    """Make so many calls, a flight of them at a time."""
    tools = itertools.cycle(("neighbour_echo", "neighbour_echo_on_loop"))
    for start in range(0, count, IN_FLIGHT):
        sent = {}
        for number in range(start, min(count, start + IN_FLIGHT)):
            params = {"name": next(tools), "arguments": {"text": str(number)}}
            sent[client.post("tools/call", params)] = str(number)
        for request, text in sent.items():
            _, answer = client.answer(request, 60)
            assert answer["result"]["content"][0]["text"] == text


def test_twenty_thousand_calls_over_http_among_callers_that_die(tmp_path: Path) -> None:
    with serving_http(Folder(tmp_path, settings=SETTINGS)) as (process, port):
        called(port, 1_000)
        before = Size.of(process)

        with ThreadPoolExecutor(1) as dying:
            deaths = dying.submit(die, port, 500)
            called(port, 20_000)
            deaths.result()

        assert not Size.of(process).has_outgrown(before)


@contextmanager
def serving_http(folder: Folder) -> Iterator[tuple[int, int]]:
    """A host over HTTP: its process id and its port; in the end it leaves with 0 when asked to."""
    process = subprocess.Popen(
        folder.command("serve", "--transport", "http", "--port", "0"),
        env=folder.environment(WAY),
        cwd=folder.path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stderr is not None
        line = next(line for line in process.stderr if "listening on" in line)
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield process.pid, int(line.rpartition(":")[2].partition("/")[0])
        process.terminate()
        assert process.wait(60) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def called(port: int, count: int) -> None:
    """Make so many calls from several callers, each on a connection that it keeps."""

    def caller(first: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for number in range(first, count, CALLERS):
            body, headers = request(number)
            connection.request("POST", "/mcp", body, headers)
            answer = json.loads(connection.getresponse().read())
            assert answer["result"]["content"][0]["text"] == str(number)
        connection.close()

    with ThreadPoolExecutor(CALLERS) as pool:
        list(pool.map(caller, range(CALLERS)))


def die(port: int, count: int) -> None:
    """Connect so many times, and go: with half a request sent, or before the answer is read."""
    for number in range(count):
        body, headers = request(number)
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head += f"Host: 127.0.0.1:{port}\r\nContent-Length: {len(body)}\r\n"
        whole = f"POST /mcp HTTP/1.1\r\n{head}\r\n{body}"
        with socket.create_connection(("127.0.0.1", port), 60) as connection:
            connection.sendall(whole.encode()[: None if number % 2 else len(whole) // 2])


def request(number: int) -> tuple[str, dict[str, str]]:
    """A call of the stateless era: its body and its headers."""
    params = {"name": "neighbour_echo", "arguments": {"text": str(number)}, "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    return body, {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "neighbour_echo",
    }
