"""The link's own reading, whatever standard input is."""

import asyncio
import os
from pathlib import Path

import pytest
from mcp_host.serving.transports.stdio.link import StdioLink

pytestmark = pytest.mark.anyio


async def lines_from(source: int) -> list[object]:
    link = StdioLink(source, os.open(os.devnull, os.O_WRONLY), 1 << 20)
    link.start()
    read = []
    while (line := await link.lines.get()) is not None:
        read.append(line)
    return read


async def test_a_pipe_is_read_to_its_end_and_a_last_line_needs_no_newline() -> None:
    source, feed = os.pipe()
    os.write(feed, b'{"a":1}\n{"b":2}\n{"c":')
    os.write(feed, b"3}")
    os.close(feed)
    assert await lines_from(source) == [b'{"a":1}', b'{"b":2}', b'{"c":3}']


async def test_a_file_in_place_of_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b'{"a":1}\n{"b":2}\n')
    assert await lines_from(os.open(tmp_path / "input", os.O_RDONLY)) == [b'{"a":1}', b'{"b":2}']


async def opened() -> tuple[StdioLink, int]:
    """A link that has accepted the request 7, and what its client reads from."""
    source, feed = os.pipe()
    drain, sink = os.pipe()
    link = StdioLink(source, sink, 1 << 20)
    link.start()
    assert link.accepted(7)
    os.close(feed)
    return link, drain


async def test_an_answer_of_another_thread_is_written_and_its_id_is_free_at_once() -> None:
    link, drain = await opened()

    assert await asyncio.to_thread(link.answer_at_once, 7, b"{}", lambda: True)

    assert os.read(drain, 100) == b"{}\n"
    assert link.accepted(7)


async def test_nothing_has_drained_before_the_loop_has_heard_of_an_answer() -> None:
    link, _ = await opened()
    await asyncio.to_thread(link.answer_at_once, 7, b"{}", lambda: True)
    drained = asyncio.create_task(link.drained())
    await asyncio.sleep(0)
    assert not drained.done()

    link.heard()

    await drained


async def test_an_answer_that_may_not_be_given_is_not_written() -> None:
    link, drain = await opened()

    assert not await asyncio.to_thread(link.answer_at_once, 7, b"{}", lambda: False)

    assert not link.accepted(7)
    os.set_blocking(drain, False)
    with pytest.raises(BlockingIOError):
        os.read(drain, 100)


async def test_an_answer_waits_for_its_turn_behind_what_the_client_has_not_taken() -> None:
    link, drain = await opened()
    long = b"x" * (1 << 20)
    sent = link.post(long)
    asked: list[bool] = []

    assert not await asyncio.to_thread(
        link.answer_at_once, 7, b"{}", lambda: not asked.append(True)
    )

    assert not asked
    left = len(long) + 1
    while left:
        left -= len(await asyncio.to_thread(os.read, drain, 1 << 16))
    assert sent is not None
    await sent


async def test_an_answer_to_a_client_that_has_gone_ends_the_link() -> None:
    link, drain = await opened()
    os.close(drain)

    await asyncio.to_thread(link.answer_at_once, 7, b"{}", lambda: True)
    link.heard()

    await link.drained()
    assert link.ended.is_set()
