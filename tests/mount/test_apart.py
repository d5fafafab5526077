"""Sessions apart: a mounted server that remembers a conversation serves one session alone."""

import asyncio
import json
from collections.abc import Iterator

import pytest
from core_home import Home
from mcp_host.testing import StdioClient
from warm_home import WarmHome, eventually, has_ended

SERVER = '''
import os

from mcp.server.mcpserver import MCPServer

mcp = MCPServer("diary", log_level="WARNING")
ENTRIES = []


@mcp.tool()
def write(words: str) -> dict:
    """Remember words."""
    ENTRIES.append(words)
    return {"process": os.getpid(), "entries": ENTRIES}
'''


@pytest.fixture
def warm(home: Home) -> Iterator[WarmHome]:
    home.write('[packs.diary]\nserver = "./diary.py:mcp"\nsessions = "apart"\n')
    (home.project / "diary.py").write_text(SERVER)
    made = WarmHome(home)
    yield made
    made.end()


async def written(client: StdioClient, words: str) -> tuple[int, list[str]]:
    told = json.loads(await client.value("diary_write", words=words))
    return told["process"], told["entries"]


async def test_an_edited_server_is_another_process_for_new_sessions(warm: WarmHome) -> None:
    warm.home.write('[packs.diary]\nserver = "./diary.py:mcp"\n')
    await warm.learn()

    async with warm.stdio() as old:
        before, _ = await written(old, "of the old one")
        file = warm.home.project / "diary.py"
        file.write_text(file.read_text().replace("ENTRIES = []", 'ENTRIES = ["edited"]'))
        await warm.learn()
        async with warm.stdio() as new:
            after, entries = await written(new, "of the new one")
        assert await written(old, "still") == (before, ["of the old one", "still"])

    assert after != before
    assert entries == ["edited", "of the new one"]


async def test_each_session_has_a_server_of_its_own_that_ends_with_it(warm: WarmHome) -> None:
    await warm.learn()

    async with warm.stdio() as one:
        async with warm.stdio() as two:
            await written(one, "of one")
            first, second = await asyncio.gather(written(one, "more"), written(two, "of two"))
            shared = {host["process"] for host in warm.hosts()}
        await asyncio.to_thread(eventually, lambda: has_ended(second[0]))
        still = await written(one, "last")
    await asyncio.to_thread(eventually, lambda: has_ended(first[0]))

    assert len(shared) == 1 and warm.alone() == ""
    assert first[1] == ["of one", "more"]
    assert second[1] == ["of two"]
    assert first[0] != second[0]
    assert still == (first[0], ["of one", "more", "last"])
