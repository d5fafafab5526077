"""A real host is killed at any byte of a request and of an answer: its client reads whole frames.

Each call is answered once, by what it did or as one whose end nobody knows.
"""

import asyncio
import fcntl
import json
import os
import random
import select
import signal
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import warm_home
from warm_home import WarmHome, eventually, has_ended

warm = warm_home.warm
ERAS = ["2025-11-25", "2026-07-28"]
F_SETPIPE_SZ = 1031
KILLS = 3
"""How many hosts a session may lose in a minute, before it is served alone."""
HURRIED = int(os.environ.get("WARM_KILLS", "150"))


class Conversation:
    """One client, which writes and reads bytes; its standard output is a pipe of one page."""

    def __init__(self, warm: WarmHome, process: "subprocess.Popen[bytes]", protocol: str) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.warm = warm
        self.process = process
        self.protocol = protocol
        self.into, self.out = process.stdin.fileno(), process.stdout.fileno()
        self.request_id = 0
        fcntl.fcntl(self.out, F_SETPIPE_SZ, 4096)

    def line(self, method: str, **params: Any) -> bytes:
        self.request_id += 1
        if self.protocol == "2026-07-28":
            about = "io.modelcontextprotocol/"
            params["_meta"] = {
                about + "protocolVersion": self.protocol,
                about + "clientInfo": {"name": "t", "version": "1"},
                about + "clientCapabilities": {},
            }
        told = {"jsonrpc": "2.0", "id": self.request_id, "method": method, "params": params}
        return json.dumps(told).encode() + b"\n"

    def call(self, tool: str, **arguments: Any) -> bytes:
        return self.line("tools/call", name=tool, arguments=arguments)

    def open(self) -> None:
        if self.protocol == "2026-07-28":
            self.write(self.line("server/discover"))
        else:
            about = {"name": "t", "version": "1"}
            opening = self.line(
                "initialize", protocolVersion=self.protocol, capabilities={}, clientInfo=about
            )
            ready = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
            self.write(opening + ready)
        self.frames()
        self.write(self.call("probe_process"))
        self.frames()

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.into, data) :]

    def was_taken(self) -> bool:
        """Whether somebody has read all that was written."""
        count = fcntl.ioctl(self.into, termios.FIONREAD, b"\0" * 4)
        return int.from_bytes(count, "little") == 0

    def read(self, most: int) -> bytes:
        ready, _, _ = select.select([self.out], [], [], warm_home.LONGEST)
        assert ready, "no answer came"
        return os.read(self.out, most)

    def exactly(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            piece = self.read(length - len(data))
            assert piece, "the output has ended"
            data += piece
        return data

    def frames(self, begun: bytes = b"") -> list[dict[str, Any]]:
        """All frames up to the answer to the last request, which is the last one of them."""
        data, told = begun, []
        while True:
            while b"\n" not in data:
                piece = self.read(1 << 16)
                assert piece, ("the output has ended", data)
                data += piece
            frame, _, data = data.partition(b"\n")
            told.append(json.loads(frame))
            if told[-1].get("id") == self.request_id:
                assert data == b""
                return told

    def host(self) -> int:
        """The process that serves; after another was killed, once it is there."""
        found: list[int] = []

        def is_there() -> bool:
            found[:] = [each["process"] for each in self.warm.hosts()]
            return len(found) == 1

        eventually(is_there)
        (process,) = found
        return process

    def kill(self) -> None:
        process = self.host()
        os.kill(process, signal.SIGKILL)
        eventually(lambda: has_ended(process))

    def end(self) -> None:
        """End the input; what comes until the end of the output must be nothing."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.read(1 << 16) == b""
        assert self.process.wait(warm_home.LONGEST) == 0


@contextmanager
def conversation(warm: WarmHome, protocol: str) -> Iterator[Conversation]:
    process = subprocess.Popen(
        warm.home.argv("serve", "--config", "mcp-host.toml", "--warm"),
        cwd=warm.home.project,
        env=warm.home.environment(warm.more),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    )
    made = Conversation(warm, process, protocol)
    try:
        made.open()
        yield made
        made.end()
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


class Notes:
    """A file to which calls append a line, and what each call was told of it."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.done: list[str] = []
        self.unknown: list[str] = []

    def call(self, client: Conversation, text: str) -> bytes:
        return client.call("probe_note", path=str(self.file), text=text)

    def take(self, text: str, told: list[dict[str, Any]]) -> None:
        (answer,) = told
        result = answer["result"]
        if result.get("isError"):
            details = json.loads(result["content"][0]["text"])["details"]
            assert details == {"reason": "host_lost", "outcome": "unknown"}
            self.unknown.append(text)
        else:
            self.done.append(text)

    def judge(self) -> None:
        noted = self.file.read_text().split() if self.file.exists() else []
        assert len(noted) == len(set(noted))
        assert set(self.done) <= set(noted) <= {*self.done, *self.unknown}


def at_positions(warm: WarmHome, protocol: str, positions: list[int]) -> None:
    """Kill the host when so many bytes of a request were written, and read where that is chance."""
    notes = Notes(warm.home.project / "notes")
    while positions:
        with conversation(warm, protocol) as client:
            for position in positions[:KILLS]:
                text = f"at-{position}"
                line = notes.call(client, text)
                client.write(line[:position])
                if position % 2:
                    eventually(client.was_taken)
                client.kill()
                client.write(line[position:])
                notes.take(text, client.frames())
                assert text in notes.done  # a part of a request is none: it cannot have begun
        del positions[:KILLS]
    notes.judge()


def after_bytes(warm: WarmHome, protocol: str, length: int, positions: list[int]) -> None:
    """Kill the host when the client has read so many bytes of an answer."""
    while positions:
        with conversation(warm, protocol) as client:
            for position in positions[:KILLS]:
                client.write(client.call("probe_large", length=length))
                begun = client.exactly(position)
                client.kill()
                (answer,) = client.frames(begun)
                assert answer["result"]["content"][0]["text"] == "x" * length
        del positions[:KILLS]


@pytest.mark.parametrize("protocol", ERAS)
def test_a_host_killed_at_some_byte_of_a_request_and_of_an_answer(
    warm: WarmHome, protocol: str
) -> None:
    asyncio.run(warm.learn())
    at_positions(warm, protocol, [random.randrange(150)])
    after_bytes(warm, protocol, 20_000, [random.randrange(1, 15_000)])


@pytest.mark.torture
@pytest.mark.parametrize("protocol", ERAS)
def test_a_host_killed_at_every_byte_of_a_request(warm: WarmHome, protocol: str) -> None:
    asyncio.run(warm.learn())
    with conversation(warm, protocol) as client:
        length = len(Notes(warm.home.project / "notes").call(client, "at-100"))
    at_positions(warm, protocol, list(range(length)))


@pytest.mark.torture
@pytest.mark.parametrize("protocol", ERAS)
def test_a_host_killed_at_every_byte_of_a_short_answer(warm: WarmHome, protocol: str) -> None:
    asyncio.run(warm.learn())
    with conversation(warm, protocol) as client:
        client.write(client.call("probe_large", length=1))
        length = len(json.dumps(client.frames()[-1], separators=(",", ":")))
    after_bytes(warm, protocol, 1, list(range(1, length)))


@pytest.mark.torture
@pytest.mark.parametrize("protocol", ERAS)
def test_a_host_killed_within_long_answers(warm: WarmHome, protocol: str) -> None:
    asyncio.run(warm.learn())
    edges = [each + by for each in (4096, 8192, 65536) for by in (-1, 0, 1)]
    positions = edges + [random.randrange(1, 200_000) for _ in range(40)]
    after_bytes(warm, protocol, 200_000, positions)


@pytest.mark.torture
@pytest.mark.parametrize("protocol", ERAS)
def test_a_host_killed_at_any_moment_of_a_call(warm: WarmHome, protocol: str) -> None:
    asyncio.run(warm.learn())
    notes, left = Notes(warm.home.project / "notes"), HURRIED
    while left:
        with conversation(warm, protocol) as client:
            for _ in range(min(KILLS, left)):
                left -= 1
                text = f"turn-{left}"
                process = client.host()
                client.write(notes.call(client, text))
                time.sleep(random.random() * 0.005)
                os.kill(process, signal.SIGKILL)
                notes.take(text, client.frames())
                eventually(partial(has_ended, process))
    notes.judge()
    assert notes.unknown and notes.done
