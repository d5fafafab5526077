"""The diagrams show what the code has: its middlewares, states, threads and files."""

import asyncio
import inspect
import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from docs_core import CORE, middlewares, threads
from docs_pages import DOCS, Block, blocks
from mcp_host.packs.conditions import OPENING, READY, Condition, State
from mcp_host.runtime.health import Health
from mcp_host.serving.transports.transport import Transport

pytestmark = pytest.mark.anyio
EXPLANATION = DOCS / "explanation"
DIAGRAMS = {
    block.note.removeprefix("diagram: "): block
    for page in ("architecture.md", "start-up.md")
    for block in blocks(EXPLANATION / page)
    if block.language == "mermaid"
}
FAILED = Condition("failed", "open_failed")
MISSING = Condition("degraded", "not_set_up")


def arrows(block: Block) -> set[tuple[str, str]]:
    """Where the arrows of a diagram of states begin and end."""
    return set(re.findall(r"^ *(\S+) --> (\S+)", block.text, re.MULTILINE))


def test_the_diagram_of_a_call_has_the_middlewares_in_their_order() -> None:
    (chain,) = re.findall(r"^ *(request_id --> .*)$", DIAGRAMS["a call"].text, re.MULTILINE)

    assert chain.split(" --> ") == middlewares()


def test_the_diagram_of_states_has_every_state_and_no_other() -> None:
    drawn = {state for arrow in arrows(DIAGRAMS["states"]) for state in arrow} - {"[*]"}

    assert drawn == set(get_args(State))


async def test_the_diagram_of_states_has_every_change_that_can_happen_and_no_other() -> None:
    """What a pack goes through is opened, failed, degraded by its own word, and recovered."""
    events: list[Callable[[Health], None]] = [
        lambda health: health.became(READY),
        lambda health: health.became(FAILED),
        lambda health: health.reported(MISSING),
        lambda health: health.reported(None),
    ]
    seen = set()
    for happening in itertools.product(events, repeat=5):
        shown = [OPENING]
        health = Health(shown.append)
        for event in happening:
            event(health)
        seen |= {(a.state, b.state) for a, b in itertools.pairwise(shown) if a.state != b.state}
    drawn = {arrow for arrow in arrows(DIAGRAMS["states"]) if "[*]" not in arrow}

    assert drawn == seen


async def test_abandoned_calls_make_a_ready_pack_degraded_until_they_end() -> None:
    shown: list[Condition] = []
    changed = asyncio.Event()
    health = Health(lambda condition: (shown.append(condition), changed.set())[1])
    health.became(READY)
    changed.clear()

    health.abandoned(1)
    async with asyncio.timeout(30):
        await changed.wait()
    health.abandoned(0)

    states = [condition.state for condition in shown]
    assert states == ["ready", "degraded", "ready"]
    assert set(itertools.pairwise(states)) <= arrows(DIAGRAMS["states"])


def test_the_diagram_of_threads_has_every_thread_and_no_other() -> None:
    drawn = re.findall(r"threads? ([\w-]+)<br/>", DIAGRAMS["threads"].text)

    assert sorted(drawn) == sorted(threads())


def test_the_diagram_of_the_start_calls_a_transport_as_the_code_does() -> None:
    told = re.findall(r"transport\.(\w+)\(\)", DIAGRAMS["start"].text)
    called = [name for name, _ in inspect.getmembers(Transport, inspect.isfunction)]
    order = [name for name in vars(Transport) if name in called]

    assert told == [name for name in order if name in told]
    assert set(told) == {"claim", "answer", "load", "serve"}


def test_the_diagram_of_the_start_has_threads_that_there_are() -> None:
    told = set(re.findall(r"threads? ([\w-]+)$", DIAGRAMS["start"].text, re.MULTILINE))

    assert told == {"loading", "pack-loading"}
    assert told <= threads()


@pytest.mark.parametrize("name", DIAGRAMS)
def test_every_file_that_a_diagram_names_exists(name: str) -> None:
    files = {Path(file) for file in re.findall(r"[\w/]+\.py\b", DIAGRAMS[name].text)}

    assert not {file for file in files if not (CORE / file).is_file()}


def test_each_diagram_is_one_of_those_that_are_held() -> None:
    assert set(DIAGRAMS) == {"a call", "threads", "states", "start"}
