"""The link's own reading, whatever standard input is."""

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
