"""What a pack does to the process it shares: the host goes on, and says who it was."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from mcp_host.testing import CallFailed, StdioClient

if TYPE_CHECKING:
    from conftest import Machine

pytestmark = pytest.mark.anyio

BESIDE = "[packs.sample]\n[packs.process]\n"


async def said(client: StdioClient, text: str) -> None:
    """Wait until the log says something; other calls go on meanwhile."""
    async with asyncio.timeout(60):
        while text not in client.stderr:
            await client.value("sample_echo")


async def test_a_pack_that_disables_loggers_and_closes_standard_error_silences_nobody(
    machine: "Machine",
) -> None:
    async with machine.serve(BESIDE) as client:
        await client.value("process_silence")

        with pytest.raises(CallFailed):
            await client.value("process_fail")

        await said(client, "RuntimeError: only the log knows")
        assert await client.end_input() == 0


async def test_what_a_pack_writes_to_low_descriptors_is_no_part_of_the_protocol(
    machine: "Machine",
) -> None:
    async with machine.serve(BESIDE) as client:
        await client.value("process_guess")

        for text in ("one", "two"):  # a line that is no JSON would have ended the reading
            assert (await client.value("sample_echo", text=text))["text"] == text
        assert await client.end_input() == 0


@contextmanager
def killed(process: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.kill(process, signal.SIGKILL)


async def test_a_fork_that_lives_on_keeps_nobody_from_seeing_the_end(machine: "Machine") -> None:
    async with machine.serve(BESIDE) as client:
        output, given, log = client.process.stdout, client.process.stdin, client.process.stderr
        assert output is not None and given is not None and log is not None
        with killed(await client.value("process_fork")):
            given.close()

            await until(output.at_eof)
        await until(log.at_eof)  # which the fork had open


async def test_a_pack_that_held_the_interpreter_is_named(machine: "Machine") -> None:
    async with machine.serve(BESIDE) as client:
        await client.value("process_hold", seconds=3.5)

        await said(client, "the interpreter was held for")
        told = next(line for line in client.stderr.splitlines() if "was held" in line)
        assert "pack process" in told
        assert "pack sample" not in told
        assert await client.end_input() == 0


@pytest.mark.torture
async def test_a_pack_that_holds_the_interpreter_is_named_while_it_does(machine: "Machine") -> None:
    async with machine.serve(BESIDE) as client:
        params = {"name": "process_hold", "arguments": {"seconds": 60}}
        await client.send(client.frame("hold", "tools/call", params))

        await until(lambda: "in pack process" in client.stderr)
        client.process.kill()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for something that no event tells of."""
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - as the line above says
            await asyncio.sleep(0.01)
