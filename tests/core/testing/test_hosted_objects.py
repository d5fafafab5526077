"""A pack that a test has as an object needs no module and no name."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest
from mcp_host import Ask, Caller, PackHandle, hookimpl, resource, tool
from mcp_host.testing import Person, hosted

pytestmark = pytest.mark.anyio


@tool(read_only=True)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class GardenTools:
    """A plugin as a class."""

    @hookimpl
    def mcp_host_tools(self) -> list[Any]:
        return [add]


FILE = """
from mcp_host import tool


@tool(read_only=True)
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b
"""


async def test_what_a_test_has_at_hand_is_a_pack(tmp_path: Path) -> None:
    file = tmp_path / "sums.py"
    file.write_text(FILE)
    before = set(sys.modules)
    sources = {
        "pack": [add],
        "garden_tools": GardenTools,
        "sums": file,
        Path(__file__).stem: sys.modules[__name__],
    }

    for name, source in sources.items():
        async with hosted(source) as host:
            assert await host.value(f"{name}_add", a=1, b=2) == 3
    async with hosted({"mine": GardenTools(), "yours": add}) as host:
        assert host.names() == ["mine_add", "yours_add"]

    assert not [name for name in set(sys.modules) - before if "_object_" in name]


async def test_what_is_no_pack_says_so_and_no_object_lives_in_another_process() -> None:
    async with hosted(object()) as host:
        (told,) = host.host.report()
    with pytest.raises(TypeError, match="must be named by its module"):
        async with hosted(add, isolation="process"):
            pass

    assert told["code"] == "hook_missing"


@resource("diary://{day}")
def diary(day: str, who: Annotated[str, Ask("Who reads {day}?")]) -> str:
    """What was written on a day."""
    return f"{day}, for {who}"


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
async def test_a_person_answers_what_a_resource_asks(protocol: str) -> None:
    person = Person(form=lambda message, schema: {"who": "Ann"})

    async with hosted(diary) as host:
        read = await host.seen_by(Caller(protocol=protocol), person).text("diary://monday")

    assert read == "monday, for Ann"
    assert [asked["params"]["message"] for asked in person.asked] == ["Who reads monday?"]


class Shelf:
    """A pack whose tool changes two resources, which nobody watches."""

    @hookimpl
    @asynccontextmanager
    async def mcp_host_open(self, pack: PackHandle) -> AsyncIterator[PackHandle]:
        yield pack

    @hookimpl
    def mcp_host_tools(self) -> list[Any]:
        @tool
        def touch(pack: PackHandle, /) -> None:
            """Change both."""
            pack.changed("shelf://a")
            pack.changed("shelf://b")

        return [touch]


async def test_the_changes_of_every_call_are_heard_before_its_answer() -> None:
    async with hosted({"shelf": Shelf()}) as host:
        for _ in range(200):
            await host.value("shelf_touch")
            heard = [host.changes.get_nowait() for _ in range(host.changes.qsize())]
            assert [one for one in heard if one.startswith("shelf:")] == ["shelf://a", "shelf://b"]
