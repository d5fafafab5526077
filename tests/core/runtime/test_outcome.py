"""What a caller is told of repeating a call: only where that does no harm."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from core_home import Hosting
from mcp_host import tool
from mcp_host.declarations.errors import DeclarationError

pytestmark = pytest.mark.anyio

PACK = """
import time
from contextlib import asynccontextmanager
from typing import Annotated

from mcp_host import Ask, Context, TimedOut, Unavailable, hookimpl, resource, tool


class Away(Exception):
    pass


class Unreached(Away):
    sent = False


class Broken(Away):
    retryable = False


class Mended(Away):
    retryable = True


class Undecided(Broken):
    retryable = None


KINDS = {kind.__name__: kind for kind in (Away, Unreached, Broken, Mended, Undecided)}


def fail(how):
    if how == "hang":
        time.sleep(60)
    if how == "late":
        raise TimedOut("it took too long")
    if how == "unsent":
        raise Unavailable("nobody answers", sent=False)
    raise KINDS[how]("away")


@tool(timeout=0.3)
def write(how: str) -> str:
    "Write."
    fail(how)


@tool(read_only=True, timeout=0.3)
def read(how: str) -> str:
    "Read."
    fail(how)


@tool(key="request_key", timeout=0.3)
async def keyed(how: str, context: Context, request_key: str | None = None) -> str:
    "Write at most once."
    if how == "tell":
        return str(context.key)
    fail(how) if how != "hang" else await Never()


@tool(idempotent=lambda how, state: state is not None, timeout=0.3)
async def sets(how: str, state: bool | None = None) -> str:
    "Set a state, or flip it."
    fail(how) if how != "hang" else await Never()


async def says_a_state(state):
    return state is not None


@tool(idempotent=says_a_state, timeout=0.3)
def sets_in_a_thread(how: str, state: bool | None = None) -> str:
    "As sets, but a plain function whose calls are judged by an `async def`."
    fail(how)


class Never:
    def __await__(self):
        import asyncio

        yield from asyncio.Event().wait().__await__()


def cannot(how):
    raise Away("before anything began")


@tool
def asks(how: str, sure: Annotated[bool, Ask(cannot)]) -> str:
    "Ask first."


@resource("outcome://{how}")
def thing(how: str) -> str:
    "A thing."
    fail(how)


@hookimpl
def mcp_host_tools():
    return [write, read, keyed, sets, sets_in_a_thread, asks]


@hookimpl
def mcp_host_resources():
    return [thing]


@hookimpl
def mcp_host_errors():
    return {Away: "unavailable"}
"""
OUTCOME = {"outcome": "outcome_pack"}
UNKNOWN = (False, "unknown")
AGAIN = (True, None)
NEVER = (False, None)


@pytest.fixture(autouse=True)
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outcome_pack.py").write_text(PACK)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "outcome_pack", raising=False)


def told(envelope: dict[str, Any]) -> tuple[bool, str | None]:
    return envelope["retryable"], envelope.get("details", {}).get("outcome")


CASES: list[tuple[str, dict[str, Any], tuple[bool, str | None]]] = [
    ("write", {"how": "Away"}, UNKNOWN),
    ("write", {"how": "Unreached"}, AGAIN),
    ("write", {"how": "unsent"}, AGAIN),
    ("write", {"how": "Broken"}, NEVER),
    ("write", {"how": "Mended"}, AGAIN),
    ("write", {"how": "Undecided"}, UNKNOWN),
    ("write", {"how": "late"}, UNKNOWN),
    ("read", {"how": "Away"}, AGAIN),
    ("read", {"how": "late"}, AGAIN),
    ("keyed", {"how": "Away"}, UNKNOWN),
    ("keyed", {"how": "Away", "request_key": ""}, UNKNOWN),
    ("keyed", {"how": "Away", "request_key": "k"}, AGAIN),
    ("keyed", {"how": "hang"}, UNKNOWN),
    ("keyed", {"how": "hang", "request_key": "k"}, AGAIN),
    ("sets", {"how": "Away"}, UNKNOWN),
    ("sets", {"how": "Away", "state": True}, AGAIN),
    ("sets_in_a_thread", {"how": "Away"}, UNKNOWN),
    ("sets_in_a_thread", {"how": "Away", "state": True}, AGAIN),
    ("sets", {"how": "hang"}, UNKNOWN),
    ("sets", {"how": "hang", "state": False}, AGAIN),
    ("asks", {"how": "x"}, AGAIN),
]


async def test_a_call_that_failed_says_whether_it_may_be_repeated(hosted: Hosting) -> None:
    async with hosted(OUTCOME) as host:
        for name, arguments, expected in CASES:
            envelope = await host.error(f"outcome_{name}", **arguments)
            assert told(envelope) == expected, (name, arguments, envelope)


async def test_a_call_that_waited_for_its_turn_did_nothing(hosted: Hosting) -> None:
    tables = {"packs": {"outcome": {"max_concurrency": 1, "tools": {"read": {"timeout": 30}}}}}
    async with hosted(OUTCOME, tables) as host:
        holding = asyncio.create_task(host.call("outcome_read", how="hang"))
        waiting = asyncio.create_task(host.error("outcome_write", how="Away"))
        envelope = await waiting
        holding.cancel()

        assert (envelope["code"], *told(envelope)) == ("timeout", True, None)


async def test_a_tool_learns_its_key(hosted: Hosting) -> None:
    async with hosted(OUTCOME) as host:
        assert await host.value("outcome_keyed", how="tell", request_key="abc") == "abc"
        assert await host.value("outcome_keyed", how="tell") == "None"


async def test_idempotent_is_shown_only_where_it_holds_for_all_calls(hosted: Hosting) -> None:
    async with hosted(OUTCOME) as host:
        for name in ("outcome_sets", "outcome_keyed"):
            assert "idempotentHint" not in host.listed(name).get("annotations", {})


def test_a_key_and_what_decides_must_be_arguments() -> None:
    @tool(key="request_key")
    def keyless(text: str) -> str:
        "No key."
        return text

    @tool(idempotent=lambda done: done)
    def undone(text: str) -> str:
        "No state."
        return text

    with pytest.raises(DeclarationError, match="keyless: key must name an argument"):
        keyless.verify(has_service=False)
    with pytest.raises(DeclarationError, match="a function of 'done', which must be an argument"):
        undone.verify(has_service=False)
