"""What a front finds in the journal of a host that was killed, wherever it was killed."""

import json
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from mcp_host.serving.warm.streams import JournaledStreams
from mcp_host.startup.frames import Splitter
from mcp_host.startup.handover import Handover
from mcp_host.startup.warm import journal as journals
from mcp_host.startup.warm.journal import JournalWriter
from mcp_host.startup.warm.unfinished import begun, unfinished

REQUESTS = [
    json.dumps({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {}}).encode() + b"\n"
    for n in range(3)
]


def answer(request_id: int, length: int = 20) -> bytes:
    told = {"jsonrpc": "2.0", "id": request_id, "result": "x" * length}
    return json.dumps(told, separators=(",", ":")).encode() + b"\n"


LONGEST = 1 << 21


class Client:
    """A client's two pipes, the journal that a host would have, and a child in its place."""

    def __init__(self) -> None:
        self.journal = JournalWriter.new()
        self.source, self.write = os.pipe()
        self.read, self.sink = os.pipe()
        os.set_blocking(self.read, False)

    def close(self) -> None:
        self.journal.close()
        for descriptor in (self.source, self.write, self.read, self.sink):
            os.close(descriptor)

    def serve(self, count: int, length: int = 20) -> None:
        """As a host: read, and answer each request in the order of coming."""
        streams = JournaledStreams(self.source, self.sink, self.journal)
        splitter, served = Splitter(1 << 20), 0
        while served < count:
            lines = splitter.feed(streams.read())
            streams.took(lines)
            for line in lines:
                frame = answer(json.loads(line)["id"], length)
                streams.tell(frame)
                streams.send(frame)
                served += 1
            if not splitter.unfinished:
                streams.settled()

    def in_child(self, work: Callable[[], Any]) -> int:
        """Fork, do this work there, and return what `os.waitpid` tells; -1 while it runs still."""
        process = os.fork()
        if process == 0:
            try:
                work()
            finally:
                os._exit(0)
        return process

    def got(self) -> bytes:
        """What the client has got and not yet taken."""
        data = b""
        try:
            while piece := os.read(self.read, 1 << 16):
                data += piece
        except BlockingIOError:
            return data
        return data


@pytest.fixture
def client() -> Any:
    made = Client()
    yield made
    made.close()


def killed_at(line: int, files: set[str], work: Callable[[], Any]) -> Callable[[], Any]:
    """Have this process killed before the so-many-th line of these files is run."""
    left = line

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    def run() -> None:
        sys.settrace(trace)
        work()

    return run


STREAMS = sys.modules[JournaledStreams.__module__].__file__
FILES = {str(journals.__file__), str(STREAMS)}


def judge(client: Client, taken: bytes, sent: list[bytes]) -> None:
    """What the client gets in the end is whole frames, each request's answer once or not at all."""
    rest = client.journal.told[client.journal.sent :]
    client.journal.empty_pipe()
    frames = (taken + client.got() + rest).split(b"\n")
    assert frames.pop() == b""
    answered = [json.loads(frame)["id"] for frame in frames]
    assert len(set(answered)) == len(answered)
    left = unfinished(client.journal)
    waiting = [json.loads(line)["id"] for line in left.waiting]
    os.set_blocking(client.source, False)
    try:
        unread = os.read(client.source, 1 << 16)
    except BlockingIOError:
        unread = b""
    coming = [json.loads(line)["id"] for line in (left.rest + unread).splitlines()]
    assert sorted([*answered, *waiting, *coming]) == [json.loads(line)["id"] for line in sent]


@pytest.mark.parametrize("cut", [None, 1, 40])
@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.torture)])
def test_a_host_killed_at_any_line_of_it_loses_nothing_and_answers_nothing_twice(
    cut: int | None, step: int
) -> None:
    data = b"".join(REQUESTS)
    for line in range(0, 10_000, step):
        client = Client()
        os.write(client.write, data if cut is None else data[:-cut])
        count = 3 if cut is None else 2
        process = client.in_child(killed_at(line, FILES, lambda: client.serve(count)))  # noqa: B023
        _, status = os.waitpid(process, 0)
        if cut is not None:
            os.write(client.write, data[-cut:])
        judge(client, b"", REQUESTS)
        client.close()
        if not os.WIFSIGNALED(status):
            break
    assert line > 30


@pytest.mark.parametrize("taken", [0, 1, 4096, 65535, 65536, 65537, 100_000, 199_999])
def test_a_host_killed_while_an_answer_is_half_written_leaves_the_other_half(
    client: Client, taken: int
) -> None:
    os.write(client.write, REQUESTS[0])
    process = client.in_child(lambda: client.serve(1, 200_000))
    os.set_blocking(client.read, True)
    got = b""
    while len(got) < taken:
        got += os.read(client.read, taken - len(got))
    os.set_blocking(client.read, False)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)

    judge(client, got, REQUESTS[:1])


@given(
    st.lists(st.binary(min_size=1, max_size=200_000), min_size=1, max_size=6),
    st.integers(0, 3),
)
@settings(max_examples=15, deadline=None)
def test_what_is_read_and_what_is_told_is_what_passes(pieces: list[bytes], turns: int) -> None:
    client = Client()
    came = b""
    for number, piece in enumerate(pieces):
        piece = piece.replace(b"\0", b"1")
        process = client.in_child(lambda: os.write(client.write, piece))  # noqa: B023
        got = b""
        while len(got) < len(piece):
            got += client.journal.receive(client.source)
        os.waitpid(process, 0)
        assert got == piece
        came += piece
        assert client.journal.came == came
        if number < turns:
            client.journal.turn(b"begin")
            came = b"begin"
    client.close()


def test_a_long_journal_keeps_what_is_not_answered(client: Client) -> None:
    streams = JournaledStreams(client.source, client.sink, client.journal)
    first, later = REQUESTS[0], REQUESTS[1]
    os.write(client.write, first)
    streams.took(Splitter(1 << 20).feed(streams.read()))
    for _ in range(30):
        os.write(client.write, later)
        streams.took(Splitter(1 << 20).feed(streams.read()))
        frame = answer(1, 50_000)
        streams.tell(frame)
        streams.send(frame)
        assert client.got() == frame

    assert len(client.journal.told) < 30 * 50_000
    assert unfinished(client.journal).waiting == (first.rstrip(),)


OPENING = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}).encode()
LEVEL = json.dumps({"jsonrpc": "2.0", "id": 5, "method": "logging/setLevel"}).encode()
INITIALIZED = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()


def test_of_a_line_that_is_too_long_a_journal_keeps_little_and_goes_on_behind_it(
    client: Client,
) -> None:
    streams = JournaledStreams(client.source, client.sink, client.journal)
    streams.longest = LONGEST
    splitter = Splitter(LONGEST)
    most = 0

    for piece in (REQUESTS[0], *[b"x" * (1 << 16)] * 2200, b"\n", REQUESTS[1]):
        os.write(client.write, piece)
        streams.took(splitter.feed(streams.read()))
        most = max(most, len(client.journal.came))

    assert most < 4 * LONGEST
    found = unfinished(client.journal)
    assert [line + b"\n" for line in found.waiting] == REQUESTS[:2]
    assert found.rest == b""


def test_what_a_conversation_goes_on_from_is_kept_and_its_answers_are_not_given_again() -> None:
    before = Handover(lines=[OPENING, INITIALIZED, LEVEL, REQUESTS[1]], answered=[(int, 0)])

    journal = begun(before)
    found = unfinished(journal)
    journal.close()

    assert found.kept == (OPENING, INITIALIZED, LEVEL)
    assert found.answered == ((int, 0),)
    assert [line for line, _ in found.open] == [REQUESTS[1].rstrip()]


def test_what_the_client_was_asked_is_open_until_it_answers(client: Client) -> None:
    for number in (1, 2):
        asked = {"jsonrpc": "2.0", "id": number, "method": "elicitation/create"}
        client.journal.tell(json.dumps(asked).encode() + b"\n")
    os.write(client.write, b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
    client.journal.receive(client.source)

    assert unfinished(client.journal).asked == (2,)


def test_a_cancelled_request_waits_for_no_answer(client: Client) -> None:
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": 0}}
    os.write(client.write, REQUESTS[0] + json.dumps({"jsonrpc": "2.0", **cancelled}).encode())
    os.write(client.write, b"\n")
    client.journal.receive(client.source)

    assert unfinished(client.journal).open == ()
