"""A signal ends the host with 0: running calls are answered first, a hung one holds nothing."""

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
from mcp_host.testing import StdioClient

if TYPE_CHECKING:
    from conftest import Machine

pytestmark = pytest.mark.anyio

ERAS = pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
AT_ONCE = 15.0  # on a loaded machine; the grace period of whoever would wait for it is longer
PATIENT = "[host]\ngrace = 600\n[packs.sample]\n[packs.tools]\n"


async def begin(client: StdioClient, tool: str, **arguments: Any) -> None:
    """Send a call whose answer comes among the client's other frames."""
    params = {"name": f"sample_{tool}", "arguments": arguments}
    await client.send(client.frame(f"the {tool}", "tools/call", params))


@ERAS
@SIGNALS
async def test_running_calls_are_answered_and_later_ones_are_not_looked_at(
    machine: "Machine", protocol: str, number: signal.Signals
) -> None:
    fifo = machine.folder / "fifo"
    os.mkfifo(fifo)
    async with machine.serve(PATIENT, protocol=protocol) as client:
        await begin(client, "take", path=str(fifo))
        await begin(client, "hang")
        with await asyncio.to_thread(fifo.open, "w") as writer:  # opens when the call reads
            client.process.send_signal(number)
            await client.arrived(1)  # the deadline of the hanging call comes after the signal
            await begin(client, "echo")
            writer.write("in time")
        async with asyncio.timeout(AT_ONCE):
            code = await client.exited()

        assert code == 0
        answers = {frame["id"]: frame["result"] for frame in client.other_frames}
        assert set(answers) == {"the take", "the hang"}
        assert answers["the take"]["content"][0]["text"] == "in time"
        assert '"timeout"' in answers["the hang"]["content"][0]["text"]


@ERAS
async def test_a_call_that_does_not_end_is_waited_for_as_long_as_the_grace_period(
    machine: "Machine", protocol: str
) -> None:
    settings = "[host]\ngrace = 0.3\n[packs.sample]\n"
    async with machine.serve(settings, protocol=protocol) as client:
        await begin(client, "hold", gate="g")
        await client.value("sample_reached", gate="g")

        async with asyncio.timeout(AT_ONCE):
            assert await client.signal() == 0


@ERAS
async def test_a_second_signal_ends_the_host_at_once(machine: "Machine", protocol: str) -> None:
    async with machine.serve(PATIENT, protocol=protocol) as client:
        await begin(client, "hold", gate="g")
        await client.value("sample_reached", gate="g")

        client.process.send_signal(signal.SIGINT)
        client.process.send_signal(signal.SIGTERM)

        async with asyncio.timeout(AT_ONCE):
            assert await client.exited() == 0


@SIGNALS
async def test_threads_that_hang_do_not_hold_the_end(
    machine: "Machine", number: signal.Signals
) -> None:
    async with machine.serve(PATIENT) as client:
        for tool in ("sample_hang", "sample_stubborn", "tools_blocks"):
            assert (await client.call(tool))["isError"]

        async with asyncio.timeout(AT_ONCE):
            assert await client.signal(number) == 0


@SIGNALS
async def test_a_signal_while_the_host_still_loads_ends_it_with_0(
    machine: "Machine", number: signal.Signals
) -> None:
    slow = "[host]\nstart_timeout = 60\n[packs.sample]\n[packs.hangs_on_import]\n"
    async with machine.serve(slow) as client, asyncio.timeout(AT_ONCE):
        assert await client.signal(number) == 0


async def test_an_open_listen_stream_ends_with_its_result(machine: "Machine") -> None:
    async with machine.serve(PATIENT, protocol="2026-07-28") as client:
        await client.value("sample_echo")
        wanted = {"notifications": {"toolsListChanged": True}}
        await client.send(client.frame("listening", "subscriptions/listen", wanted))
        await client.notified("notifications/subscriptions/acknowledged")

        async with asyncio.timeout(AT_ONCE):
            assert await client.signal() == 0

        (last,) = client.other_frames
        assert (last["id"], last["result"]["resultType"]) == ("listening", "complete")
