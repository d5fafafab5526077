"""One client on standard input and output: nothing accepted is lost, and every line parses."""

import asyncio
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp_host.testing import Person, StdioClient

if TYPE_CHECKING:
    from conftest import Machine

pytestmark = pytest.mark.anyio

LEGACY, MODERN = "2025-11-25", "2026-07-28"
ERAS = pytest.mark.parametrize("protocol", [LEGACY, MODERN])
META = "io.modelcontextprotocol/"
A_MOMENT = 15.0  # on a loaded machine; what hangs here hangs for half a minute or for ever
BIG = 3_000_000
FLOOD = 40_000
A_PAUSE = 2.0  # a server that takes nothing for so long has stopped to


def call(client: StdioClient, request_id: Any, tool: str, **arguments: Any) -> bytes:
    params = {"name": f"sample_{tool}", "arguments": arguments}
    return json.dumps(client.frame(request_id, "tools/call", params)).encode() + b"\n"


def cancelled(request_id: Any) -> bytes:
    params = {"requestId": request_id}
    notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    return json.dumps(notice).encode() + b"\n"


@dataclass
class Deaf:
    """A client that reads only when it is told to."""

    process: "subprocess.Popen[bytes]"
    protocol: str

    def call(self, request_id: Any, tool: str, **arguments: Any) -> bytes:
        return self.request(request_id, "tools/call", name=tool, arguments=arguments)

    def request(self, request_id: Any, method: str, **params: Any) -> bytes:
        if self.protocol == MODERN:
            params["_meta"] = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
        return self.line(id=request_id, method=method, params=params)

    def line(self, **parts: Any) -> bytes:
        return json.dumps({"jsonrpc": "2.0", **parts}).encode() + b"\n"

    def begin(self) -> None:
        info = {"name": "test", "version": "0"}
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": info}
        if self.protocol == LEGACY:
            self.send(self.line(id=0, method="initialize", params=params))
            self.process.stdout.readline()
            self.send(self.line(method="notifications/initialized"))

    def send(self, *lines: bytes) -> None:
        self.process.stdin.write(b"".join(lines))

    def wait_for_output(self) -> None:
        select.select([self.process.stdout], [], [])

    def all_output(self) -> bytes:
        return self.process.communicate()[0]

    def go_away(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()


@contextmanager
def deaf(machine: "Machine", protocol: str, settings: str = "[packs.sample]\n") -> Iterator[Deaf]:
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        machine.settings(settings),
        env=machine.environment(),
        bufsize=0,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
    )
    try:
        client = Deaf(process, protocol)
        client.begin()
        yield client
    finally:
        process.kill()
        process.wait()
        client.go_away()


@ERAS
async def test_thirty_calls_followed_at_once_by_the_end_of_input_are_all_answered(
    machine: "Machine", protocol: str
) -> None:
    for _ in ("first start", "second start, from the saved catalogue"):
        async with machine.serve(protocol=protocol) as client:
            calls = [call(client, f"call-{n}", "echo", number=n) for n in range(30)]

            await client.send_bytes(b"".join(calls))
            code = await client.end_input()

            assert code == 0
            answers = {f["id"]: f["result"]["structuredContent"] for f in client.other_frames}
            numbers = {request_id: answer["number"] for request_id, answer in answers.items()}
            assert numbers == {f"call-{n}": n for n in range(30)}


@ERAS
async def test_a_running_call_is_answered_after_the_end_of_input_by_its_deadline(
    machine: "Machine", protocol: str
) -> None:
    async with machine.serve(protocol=protocol) as client:
        await client.send_bytes(call(client, "slow", "hang") + call(client, "last", "big", size=1))
        async with asyncio.timeout(A_MOMENT):
            code = await client.end_input()

        assert code == 0
        ends = {frame["id"]: frame["result"]["isError"] for frame in client.other_frames}
        assert ends == {"slow": True, "last": False}


@ERAS
def test_bad_json_while_a_large_answer_is_being_written_spoils_no_line(
    machine: "Machine", protocol: str
) -> None:
    with deaf(machine, protocol) as client:
        client.send(client.call("large", "sample_big", size=BIG))
        client.wait_for_output()  # which is not read on: the answer is half written

        client.send(client.call("small", "sample_big", size=1), b"{not json\n" * 20)
        frames = [json.loads(line) for line in client.all_output().splitlines()]

        assert [f["error"]["code"] for f in frames if "error" in f] == [-32700] * 20
        sizes = {f["id"]: len(f["result"]["content"][0]["text"]) for f in frames if f.get("id")}
        assert sizes == {"large": BIG, "small": 1}
        assert client.process.returncode == 0


def test_what_was_refused_before_the_end_of_input_is_read_to_the_last_line(
    machine: "Machine",
) -> None:
    with deaf(machine, LEGACY) as client:
        client.send(b"{not json\n" * 2000)  # the answers are more than a pipe holds
        client.process.stdin.close()
        client.wait_for_output()

        frames = [json.loads(line) for line in client.process.stdout]

        assert [frame["error"]["code"] for frame in frames] == [-32700] * 2000
        assert client.process.wait(A_MOMENT) == 0


@ERAS
async def test_a_call_that_its_client_takes_back_is_told_so_and_never_answered(
    machine: "Machine", protocol: str
) -> None:
    async with machine.serve(protocol=protocol) as client:
        await client.send_bytes(
            call(client, "thread", "watch") + call(client, "task", "hold", gate="g")
        )
        for gate in ("watching", "g"):
            await client.value("sample_reached", gate=gate)

        await client.send_bytes(cancelled("thread") + cancelled("task") + cancelled("nobody's"))

        for gate in ("seen", "g cancelled: True"):
            assert await client.value("sample_reached", gate=gate)
        async with asyncio.timeout(A_MOMENT):
            assert await client.end_input() == 0
        assert client.other_frames == []


@ERAS
async def test_an_id_and_its_text_are_two_calls(machine: "Machine", protocol: str) -> None:
    async with machine.serve(protocol=protocol) as client:
        await client.send_bytes(
            call(client, 101, "hold", gate="number") + call(client, "101", "hold", gate="text")
        )
        for gate in ("number", "text"):
            await client.value("sample_reached", gate=gate)
            await client.value("sample_let_go", gate=gate)
        await client.arrived(2)

        told = {f["id"]: f["result"]["content"][0]["text"] for f in client.other_frames}
        assert told == {101: "number", "101": "text"}
        assert await client.end_input() == 0


@ERAS
async def test_an_id_that_is_in_use_is_refused_and_the_first_call_goes_on(
    machine: "Machine", protocol: str
) -> None:
    async with machine.serve(protocol=protocol) as client:
        twice = call(client, "twice", "hold", gate="g")
        await client.send_bytes(twice)
        await client.value("sample_reached", gate="g")
        await client.send_bytes(twice)
        await client.arrived(1)
        assert await client.value("sample_let_go", gate="g") == 1
        await client.arrived(2)

        refused, answered = client.other_frames
        assert refused["error"]["code"] == -32600
        assert "in use" in refused["error"]["message"]
        assert answered["result"]["content"][0]["text"] == "g"


async def test_a_call_taken_back_by_the_text_of_its_id_does_not_hold_the_end(
    machine: "Machine",
) -> None:
    async with machine.serve() as client:
        await client.send_bytes(call(client, 101, "hold", gate="g"))
        await client.value("sample_reached", gate="g")

        await client.send_bytes(cancelled("101"))

        async with asyncio.timeout(A_MOMENT):
            assert await client.end_input() == 0


@ERAS
def test_a_client_that_goes_away_in_the_middle_of_a_call_ends_the_host_with_0(
    machine: "Machine", protocol: str
) -> None:
    with deaf(machine, protocol, "[host]\ntimeout = 0.3\n[packs.sample]\n") as client:
        client.send(client.call("held", "sample_hold", gate="never"))
        client.send(client.call("seen", "sample_reached", gate="never"))
        client.wait_for_output()

        client.go_away()

        assert client.process.wait(A_MOMENT) == 0


@pytest.mark.parametrize("end", ["input", "SIGTERM"])
@ERAS
def test_a_client_that_reads_nothing_holds_up_neither_the_host_nor_its_end(
    machine: "Machine", protocol: str, end: str
) -> None:
    settings = "[host]\ntimeout = 0.3\ngrace = 0.3\n[packs.sample]\n[packs.tools]\n"
    with deaf(machine, protocol, settings) as client:
        client.send(client.call("large", "sample_big", size=BIG))
        # Each of these writes a traceback to the log, until that pipe is full as well.
        client.send(*(client.call(f"noise-{n}", "tools_says") for n in range(200)))
        client.send(client.call("flood", "tools_floods"))  # holds the lock of sys.stderr
        client.wait_for_output()
        os.mkfifo(machine.folder / "sign")
        client.send(client.call("sign", "sample_put", path=str(machine.folder / "sign")))
        (machine.folder / "sign").read_bytes()  # the call runs, although nobody reads

        if end == "SIGTERM":
            client.process.terminate()
        else:
            client.process.stdin.close()

        assert client.process.wait(A_MOMENT) == 0


@ERAS
def test_a_client_that_floods_and_reads_nothing_is_read_no_further_and_loses_no_answer(
    machine: "Machine", protocol: str
) -> None:
    with deaf(machine, protocol) as client:
        client.send(client.call("first", "sample_put", path=str(machine.folder / "first")))
        client.process.stdout.readline()  # the SDK is there
        sent, writing = 0, client.process.stdin.fileno()
        while sent < FLOOD and select.select([], [writing], [], A_PAUSE)[1]:
            client.send(client.request(sent, "prompts/list"))
            sent += 1
        assert sent < FLOOD

        answers = client.process.stdout
        with os.fdopen(os.dup(answers.fileno()), "rb") as lines:
            numbers = [json.loads(lines.readline())["id"] for _ in range(sent)]
        assert sorted(numbers) == list(range(sent))


async def test_requests_before_the_handshake_are_refused_and_the_handshake_still_works(
    machine: "Machine",
) -> None:
    async with machine.serve(handshake=False) as client:
        early = await client.raw_request("tools/list")
        await client.handshake()

        assert early["error"]["code"] == -32602
        assert await client.value("sample_big", size=2) == "xx"


async def test_a_second_handshake_is_answered_and_changes_nothing(machine: "Machine") -> None:
    async with machine.serve(person=Person()) as client:
        await client.send_bytes(call(client, "held", "hold", gate="g"))
        await client.value("sample_reached", gate="g")
        first = client.initialized

        await client.handshake()

        assert client.initialized == first
        await client.value("sample_let_go", gate="g")
        await client.arrived(1)
        assert client.other_frames[0]["result"]["content"][0]["text"] == "g"


async def test_each_connection_keeps_to_the_era_it_began_in(serving: Any) -> None:
    handshake, modern = serving[LEGACY], serving[MODERN]
    bare = {"jsonrpc": "2.0", "method": "tools/list", "params": {}}
    enveloped = modern.frame("other", "tools/list")
    begun = {"protocolVersion": LEGACY, "capabilities": {}}
    begun["clientInfo"] = {"name": "test", "version": "0"}

    await modern.tools()
    await handshake.send(enveloped)
    await modern.send({**bare, "id": "bare"})
    await modern.send({**bare, "id": "begin", "method": "initialize", "params": begun})
    await handshake.arrived(1)
    await modern.arrived(2)

    assert handshake.other_frames[0]["error"]["code"] == -32600
    codes = {f["id"]: f["error"]["code"] for f in modern.other_frames}
    assert codes == {"bare": -32602, "begin": -32022}


@pytest.mark.parametrize("words", [["serve"], ["tools", "--json"]])
@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_standard_stream_that_is_closed_counts_as_an_empty_one(
    tmp_path: Path, closed: int, words: list[str]
) -> None:
    folders = {f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in ("CONFIG", "DATA", "CACHE")}
    done = subprocess.run(
        [sys.executable, "-m", "mcp_host", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        preexec_fn=lambda: os.close(closed),
        cwd=tmp_path,
        env={**os.environ, **folders},
        timeout=60,
        check=False,
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr


@pytest.mark.parametrize("asks_late", [False, True])
async def test_a_listen_stream_ends_with_its_result_at_the_end_of_input(
    machine: "Machine", asks_late: bool
) -> None:
    async with machine.serve(protocol="2026-07-28") as client:
        if not asks_late:
            await client.tools()
        wanted = {"notifications": {"toolsListChanged": True}}
        await client.send(client.frame("L", "subscriptions/listen", wanted))
        if not asks_late:
            await client.notified("notifications/subscriptions/acknowledged")
        assert await client.end_input() == 0

        (answer,) = [frame for frame in client.other_frames if frame["id"] == "L"]
        assert answer["result"]["resultType"] == "complete"
