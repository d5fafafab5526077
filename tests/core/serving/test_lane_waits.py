"""What needs the SDK waits for it alone: whoever calls meanwhile is answered by the lane."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Machine

pytestmark = pytest.mark.anyio

LEVEL = {"jsonrpc": "2.0", "id": "level", "method": "logging/setLevel", "params": {"level": "info"}}


async def test_calls_are_answered_while_an_unusual_request_waits_for_the_sdk(
    machine: "Machine",
) -> None:
    async with machine.serve() as client:
        await client.value("sample_big", size=1)

        await client.send(LEVEL)
        assert await client.value("sample_big", size=3) == "xxx"

        assert client.other_frames == []
        (answer,) = await client.arrived(1)
        assert (answer["id"], answer["result"]) == ("level", {})


async def test_what_was_held_is_answered_also_where_the_input_ends(machine: "Machine") -> None:
    async with machine.serve() as client:
        await client.value("sample_big", size=1)

        await client.send(LEVEL)
        assert await client.end_input() == 0

        (answer,) = client.other_frames
        assert (answer["id"], answer["result"]) == ("level", {})
