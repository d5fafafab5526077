"""A pack cannot tell, and its callers cannot tell, whether it lives in threads or in a process."""

import asyncio
import sys
from pathlib import Path

import pytest
from core_home import Hosting
from mcp_host import Caller
from mcp_host.testing import Person

pytestmark = pytest.mark.anyio

PACK = """
import logging
import sys
from contextlib import asynccontextmanager
from typing import Annotated

from mcp_host import Ask, Complete, Context, NotFound, hookimpl, prompt, resource, tool
from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True)
    greeting: str = "hello"


class Service:
    def __init__(self, settings, pack):
        self.settings, self.pack = settings, pack


@tool(timeout=20)
def remove(context: Context, ids: list[int], sure: Annotated[bool, Ask("Remove {ids}?")]) -> str:
    "Remove things, see {tool:tell}."
    return f"removed {ids}: {sure}"


@tool(read_only=True)
async def tell(service: Service, /, context: Context) -> dict:
    "Say all that can be said on the way."
    context.progress(1, 2, "half")
    context.log("warning", {"count": 3})
    service.pack.changed("alike://x")
    logging.getLogger("alike").warning("said in the log")
    return {
        "greeting": service.settings.greeting,
        "subject": context.caller.subject,
        "name": service.pack.public_name("tell"),
        "folder": service.pack.data_dir.name,
        "left": context.remaining > 1,
    }


@tool
async def program(service: Service, /, text: str) -> str:
    "Run a program."
    argv = [sys.executable, "-c", "import sys; print(sys.stdin.read()[::-1])"]
    done = await service.pack.run(argv, stdin=text.encode())
    return done.stdout.decode().strip()


@tool(read_only=True)
def missing(what: str) -> str:
    "Look for what is not there."
    raise NotFound(f"no {what}", suggestions=["look elsewhere"], details={"reason": "none"})


@resource("alike://{name}", mime="text/plain")
def thing(name: str) -> str:
    "A thing."
    return f"this is {name}"


@prompt
def ask(word: Annotated[str, Complete(lambda value: [value + "1", value + "2"])]) -> str:
    "Ask."
    return f"what is {word}?"


@hookimpl
def mcp_host_settings():
    return Settings


@hookimpl
@asynccontextmanager
async def mcp_host_open(settings, pack):
    yield Service(settings, pack)


@hookimpl
def mcp_host_tools():
    return [remove, tell, program, missing]


@hookimpl
def mcp_host_resources():
    return [thing]


@hookimpl
def mcp_host_prompts():
    return [ask]


@hookimpl
def mcp_host_instructions():
    return "Use {tool:tell}."
"""
ALIKE = {"alike": "alike_pack"}
SETTINGS = {"packs": {"alike": {"prefix": "a", "settings": {"greeting": "hi"}}}}


@pytest.fixture(autouse=True)
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pack can be imported, and its folders are in a folder of the test's."""
    (tmp_path / "alike_pack.py").write_text(PACK)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delitem(sys.modules, "alike_pack", raising=False)


async def test_what_is_listed_is_the_same(hosted: Hosting, hosted_in_threads: Hosting) -> None:
    async with hosted(ALIKE, SETTINGS) as one, hosted_in_threads(ALIKE, SETTINGS) as other:
        for what in ("tools", "resources", "resourceTemplates", "prompts"):
            assert one.host.visible(what, one.caller) == other.host.visible(what, other.caller)
            assert one.names(what) or what == "resources"
        assert one.host.instructions == other.host.instructions == "Use a_tell."
        assert one.listed("a_remove")["description"] == "Remove things, see a_tell."


async def test_a_person_is_asked_before_the_body_runs(hosted: Hosting) -> None:
    async with hosted(ALIKE, SETTINGS) as host:
        yes = host.seen_by(person=Person())

        assert await yes.value("a_remove", ids=[1, 2]) == "removed [1, 2]: True"
        assert yes.person and yes.person.asked[0]["params"]["message"] == "Remove [1, 2]?"
        no = host.seen_by(person=Person(form=lambda message, schema: None))
        refused = await no.error("a_remove", ids=[1])
        assert refused["code"] == "cancelled"


async def test_a_call_hears_and_says_all_that_it_may(
    hosted: Hosting, caplog: pytest.LogCaptureFixture
) -> None:
    async with hosted(ALIKE, SETTINGS) as host:
        told = host.seen_by(Caller(subject="me", scopes=frozenset({"*"})))

        assert await told.value("a_tell") == {
            "greeting": "hi",
            "subject": "me",
            "name": "a_tell",
            "folder": "alike",
            "left": True,
        }
        assert told.heard.messages == [
            ("progress", 1, 2, "half"),
            ("log", "warning", {"count": 3}),
        ]
        await host.next_change("alike://x")
        async with asyncio.timeout(30):
            while "said in the log" not in caplog.messages:
                await host.value("a_tell")


async def test_programs_resources_prompts_proposals_and_errors_are_the_same(
    hosted: Hosting,
) -> None:
    async with hosted(ALIKE, SETTINGS) as host:
        assert await host.value("a_program", text="abc") == "cba"
        assert await host.text("alike://moon") == "this is moon"
        assert await host.prompt("a_ask", word="love") == ["what is love?"]
        ref = {"type": "ref/prompt", "name": "a_ask"}
        assert await host.complete(ref, "word", "x") == ["x1", "x2"]

        missing = await host.error("a_missing", what="keys")
        assert (missing["code"], missing["error"]) == ("not_found", "no keys")
        assert missing["suggestions"] == ["look elsewhere"]
        assert missing["details"] == {"reason": "none"}
        unknown = await host.error("a_missing", wat="keys")
        assert unknown["code"] == "validation_error"
        assert "what" in unknown["error"]
