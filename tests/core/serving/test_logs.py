"""The log on a descriptor: whole lines in order, however many are written at once."""

import asyncio
import logging
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from mcp_host.serving.log_lines import JsonFormatter, TextFormatter
from mcp_host.serving.logs import DescriptorLog, HostLogger
from mcp_host.settings.secrets import Secrets

LINES = 300


@pytest.mark.skipif(
    sys.platform != "linux", reason="only there a pipe tells writes from each other"
)
def test_lines_that_come_together_are_written_together_and_in_order() -> None:
    reading, writing = os.pipe2(os.O_DIRECT | os.O_NONBLOCK)
    handler = DescriptorLog(writing)
    told = logging.Logger("told", logging.INFO)
    told.addHandler(handler)

    async def tell() -> None:
        handler.gather(asyncio.get_running_loop())
        for number in range(LINES):
            told.info("line %d", number)
        told.warning("line %d", LINES)
        told.info("line %d", LINES + 1)
        handler.gather_no_more()
        told.info("line %d", LINES + 2)

    asyncio.run(tell())
    os.close(writing)
    writes = []
    while data := os.read(reading, DescriptorLog.PIECE):
        writes.append(data)
    os.close(reading)

    assert b"".join(writes) == b"".join(b"line %d\n" % number for number in range(LINES + 3))
    assert all(data.endswith(b"\n") for data in writes)
    assert len(writes) < 10


def test_threads_that_write_while_nobody_reads_lose_lines_and_nothing_else() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    filled = 0
    while True:
        try:
            filled += os.write(writing, b"x" * DescriptorLog.PIECE)
        except BlockingIOError:
            break
    told = logging.Logger("told", logging.INFO)
    told.addHandler(DescriptorLog(writing))
    threads = 4
    together = Barrier(threads)

    def tell(number: int) -> None:
        together.wait()
        told.info("line %d", number)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(tell, range(threads)))  # raises what any of them raised
    while filled:
        filled -= len(os.read(reading, filled))
    told.info("line %d", threads)
    os.close(writing)

    with os.fdopen(reading, "rb") as rest:
        assert rest.read() == b"line %d\n" % threads


@pytest.mark.parametrize("form", [TextFormatter, JsonFormatter])
def test_a_secret_in_one_of_the_lines_that_are_written_together_is_masked(
    form: type[TextFormatter | JsonFormatter],
) -> None:
    reading, writing = os.pipe()
    handler = DescriptorLog(writing)
    handler.setFormatter(form(Secrets(values=frozenset({"hidden-word"}))))

    class Told(HostLogger):
        HANDLER = handler

    told = Told("mcp_host.told")

    async def tell() -> None:
        handler.gather(asyncio.get_running_loop())
        for word in ("first", "seen", "hidden-word", "last"):
            told.info("it is %s", word)
        handler.gather_no_more()

    asyncio.run(tell())
    os.close(writing)
    written = os.read(reading, DescriptorLog.PIECE).decode()
    os.close(reading)

    assert "hidden-word" not in written
    assert [line.split("it is ")[1].split('"')[0] for line in written.splitlines()] == [
        "first",
        "seen",
        "********",
        "last",
    ]
