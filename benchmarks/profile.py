"""`make profile`: where the microseconds of a usual call go, from the frame to its answer.

The parts are timed one by one in this process, by the processor time that they use. What a client
waits for beside them is the transport and the waking of threads, which the round trip shows.
"""

import argparse
import asyncio
import logging
import os
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from statistics import median
from types import ModuleType

from mcp_host import hookimpl, tool
from mcp_host.declarations.context import Caller, Context
from mcp_host.host import Host
from mcp_host.packs.inventory import Inventory
from mcp_host.packs.loading import Offer
from mcp_host.runtime.driver import drive
from mcp_host.runtime.messages import CallMessage
from mcp_host.runtime.side import steps
from mcp_host.runtime.thread_worker import ThreadWorker
from mcp_host.serving import logs
from mcp_host.serving.event_loop import new_event_loop
from mcp_host.serving.lane.channel import LaneChannel
from mcp_host.serving.lane.lane import Lane
from mcp_host.serving.lane.requests import Usual, message, usual
from mcp_host.settings.loading import parse

from .candidates import callers
from .clients import ERAS
from .table import show

BODY = (
    b'{"jsonrpc":"2.0","id":5,"method":"tools/call",'
    b'"params":{"name":"p_add","arguments":{"a":1,"b":2}}}'
)
CALLER = Caller(protocol="2025-11-25", connection="profile")


@tool(read_only=True)
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(read_only=True)
def plain_add(a: int, b: int) -> int:
    """Add two numbers, in a thread."""
    return a + b


def mcp_host_tools() -> list[object]:
    return [add, plain_add]


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="make profile")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=500, help="calls per round")
    options = parser.parse_known_args(argv)[0]
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        found = runner.run(_parts(options.rounds, options.calls))
    show(
        "A call in the lane, µs of processor time (the least of the rounds)",
        ("", "µs"),
        [(name, f"{found[name]:.0f}") for name in found],
    )
    trips = _round_trips(options.calls)
    show("The round trip of the same call, µs (median)", ("", "µs"), trips)


async def _parts(rounds: int, calls: int) -> dict[str, float]:
    """The microseconds of each part; what is done together costs more than its parts."""
    async with _host() as host:
        await host.settled()
        lane = Lane(host, {"name": "profile", "version": "1"})
        given = message(BODY)
        assert given is not None
        request = usual(given)
        assert request is not None
        worker = host.running["p"].worker
        assert isinstance(worker, ThreadWorker)

        async def ask() -> None:
            await lane.answer(request, CALLER, LaneChannel(lambda frame: None, None))

        async def cross() -> None:
            await worker.call(_message(), lambda said: None)

        async def nothing() -> None:
            return None

        async def hop() -> None:
            await worker._on_loop(nothing, None)

        async def times(what: Callable[[], Awaitable[None]]) -> float:
            return await _least(what, rounds, calls)

        whole, crossing, bare = await times(ask), await times(cross), await times(hop)
        side = _side(worker, rounds, calls)
        parsing = _plain(_read, rounds, calls)
        logs.HostLogger.LEVEL = logging.INFO
        with_line = await times(ask)
        return {
            "parse the request": parsing,
            "middleware, and the frame of the answer": whole - crossing,
            "to the pack's thread and back": bare,
            "the pack's side: check, tool, answer": side,
            "mailbox, job and context of the call": max(0.0, crossing - bare - side),
            "the line in the log": max(0.0, with_line - whole),
            "together": parsing + with_line,
        }


def _host() -> Host:
    pack = ModuleType("profiled_pack")
    pack.mcp_host_tools = hookimpl(mcp_host_tools)  # type: ignore[attr-defined]  # a new module
    sys.modules[pack.__name__] = pack
    settings = parse({"packs": {"p": {"enabled": True}}}, None, {})
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 - for as long as the process lives
    logs.configure("warning", "text", settings.secrets)
    logs.keep_ours()
    sys.stderr = sys.__stderr__
    inventory = Inventory(settings, offers={"p": [Offer("p", pack.__name__, "p", "1")]})
    inventory.load()
    return Host(inventory)


def _read() -> Usual | None:
    given = message(BODY)
    assert given is not None
    return usual(given)


def _message() -> CallMessage:
    return CallMessage(
        kind="tool",
        key="add",
        target="p_add",
        arguments={"a": 1, "b": 2},
        request_id="0" * 36,
        caller=CALLER,
        seconds=30.0,
        max_answer_bytes=1 << 22,
    )


def _side(worker: ThreadWorker, rounds: int, calls: int) -> float:
    """A pack's side in this thread, with a plain function in place of the `async def`."""
    contribution = worker._contributions["tool", "plain_add"]

    def once() -> None:
        context = Context("0" * 36, CALLER)
        drive(steps(_message(), contribution, None, context, lambda said: None), {})

    return _plain(once, rounds, calls)


async def _least(what: Callable[[], Awaitable[None]], rounds: int, calls: int) -> float:
    found = []
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(calls):
            await what()
        found.append(1e6 * (time.process_time() - began) / calls)
    return min(found)


def _plain(what: Callable[[], object], rounds: int, calls: int) -> float:
    found = []
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(calls):
            what()
        found.append(1e6 * (time.process_time() - began) / calls)
    return min(found)


def _round_trips(calls: int) -> list[tuple[str, str]]:
    """What a client waits for, with and without the SDK between."""
    rows = []
    with callers() as (everyone, _):
        for candidate in everyone:
            for era in ERAS:
                with candidate.over_stdio(era) as client:
                    client.open()
                    trips = [client.ask("tools/call", candidate.call)[1] for _ in range(calls)]
                    rows.append((f"{candidate.name}, stdio, {era}", f"{1e6 * median(trips):.0f}"))
    return rows


if __name__ == "__main__":
    main(sys.argv[1:])
