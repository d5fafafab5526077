"""A supervisor that is killed takes its children along, and what they have started."""

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Machine

pytestmark = pytest.mark.anyio


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


async def test_what_children_have_started_ends_with_a_supervisor_that_is_killed(
    machine: "Machine",
) -> None:
    settings = '[host]\nretry_after = 0.05\n[packs.dying]\nisolation = "process"\n[packs.sample]\n'
    async with machine.serve(settings) as client:
        child = await client.value("dying_who")
        await client.value("dying_breeds", children=3)

        os.kill(parent(child), signal.SIGKILL)

        assert await client.value("sample_big", size=3) == "xxx"
        assert await client.end_input() == 0  # which waits until nobody holds standard error
