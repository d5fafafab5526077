"""Questions that know the state: they see the service, and never write."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from core_home import Hosting
from mcp_host import Caller, Choice, Image, Message, Sample, Visit, tool
from mcp_host.declarations.errors import DeclarationError
from mcp_host.testing import Person

pytestmark = pytest.mark.anyio

PACK = """
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated

from mcp_host import Answer, Ask, Choice, Context, Form, Image, Sample, Visit, hookimpl, tool


@dataclass
class Lists:
    items: dict = field(default_factory=lambda: {"Groceries": 12, "Trips": 0, "Old": 3})
    bodies: int = 0
    signed_in: bool = False


def facts(lists: "Lists", /, name: str, context: Context):
    assert context.caller.protocol != "never"
    open_items = lists.items[name]
    return Form(f"Delete {name} with its {open_items} open items?", bool) if open_items else True


@tool(destructive=True)
def delete(lists: Lists, /, name: str, sure: Annotated[bool, Ask(facts)]) -> str:
    "Delete a list."
    lists.bodies += 1
    return f"deleted {name}: {sure}, {lists.bodies} of bodies" if lists.items.pop(name) else "gone"


async def which(lists: Lists, /):
    return Choice("Which list?", {name: f"{name} ({n})" for name, n in lists.items.items()})


@tool
def empty(lists: Lists, /, name: Annotated[str, Ask(which)]) -> str:
    "Empty a list."
    return f"emptied {name}"


def several(lists: Lists, /):
    return Choice("Which lists?", list(lists.items), several=True)


@tool
def join(lists: Lists, /, names: Annotated[Answer[list[str]], Ask(several)]) -> str:
    "Join lists."
    return f"{names.action}: {names.value}"


@dataclass
class Plan:
    doomed: list


def dry_run(lists: Lists, /, at_most: int):
    return Plan([name for name, n in lists.items.items() if n <= at_most])


@tool
def tidy(
    lists: Lists,
    /,
    at_most: int,
    plan: Annotated[Plan, Ask(dry_run)],
    sure: Annotated[bool, Ask(lambda plan: Form(f"Delete {', '.join(plan.doomed)}?", bool))],
) -> str:
    "Delete small lists, after a look at what would go."
    lists.bodies += 1
    return f"deleted {plan.doomed}, {lists.bodies} of bodies"


def sign_in(lists: Lists, /):
    return lists.signed_in or Visit("Sign in to Lists", "https://lists.example/login", "login-1")


@tool
def share(lists: Lists, /, agreed: Annotated[bool, Ask(sign_in)]) -> str:
    "Share the lists."
    return f"shared: {agreed}"


@tool
def describe(
    text: Annotated[str, Ask(Sample(["What is this?", Image(b"png")], system="Be short"))],
) -> str:
    "Describe a picture."
    return text


@hookimpl
@asynccontextmanager
async def mcp_host_open():
    yield Lists()


@hookimpl
def mcp_host_tools():
    return [delete, empty, join, tidy, share, describe]
"""
LISTS = {"lists": "lists_pack"}


@pytest.fixture(autouse=True)
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lists_pack.py").write_text(PACK)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "lists_pack", raising=False)


def message(person: Person, number: int = 0) -> str:
    return str(person.asked[number]["params"]["message"])


async def test_a_question_tells_what_the_service_knows_and_the_body_runs_once(
    hosted: Hosting,
) -> None:
    async with hosted(LISTS) as host:
        person = Person()
        asked = host.seen_by(person=person)

        said = await asked.value("lists_delete", name="Groceries")

        assert message(person) == "Delete Groceries with its 12 open items?"
        assert said == "deleted Groceries: True, 1 of bodies"
        assert await asked.value("lists_delete", name="Trips") == "gone"
        assert len(person.asked) == 1


async def test_an_answer_counts_only_for_the_facts_that_it_was_given_to(hosted: Hosting) -> None:
    async with hosted(LISTS) as host:
        person = Person()

        def form(message: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
            return {"sure": True, "value": True}

        person.form = form
        caller = Caller(offers=frozenset({"elicitation"}))
        context = host.host.context(caller)
        asked = await host.host.call_tool("lists_tidy", {"at_most": 3}, context)
        assert asked.data["inputRequests"]["sure"]["params"]["message"] == "Delete Trips, Old?"

        await host.seen_by(person=person).value("lists_delete", name="Old")
        answers = {"sure": {"action": "accept", "content": {"value": True}}}
        from mcp_host.middleware.call import Asking

        again = await host.host.call_tool(
            "lists_tidy",
            {"at_most": 3},
            host.host.context(caller),
            Asking(answers, asked.data["requestState"]),
        )
        assert again.data["inputRequests"]["sure"]["params"]["message"] == "Delete Trips?"


async def test_a_choice_is_made_of_data(hosted: Hosting) -> None:
    async with hosted(LISTS) as host:
        person = Person(form=lambda message, schema: {"value": "Old"})
        assert await host.seen_by(person=person).value("lists_empty") == "emptied Old"
        properties = person.asked[0]["params"]["requestedSchema"]["properties"]
        assert properties["value"]["oneOf"][0] == {"const": "Groceries", "title": "Groceries (12)"}

        agreeing = host.seen_by(person=Person())
        assert await agreeing.value("lists_join") == "accept: ['Groceries']"
        declining = host.seen_by(person=Person(form=lambda message, schema: None))
        assert await declining.value("lists_join") == "decline: None"


async def test_a_question_after_a_dry_run_tells_what_would_be_done(hosted: Hosting) -> None:
    async with hosted(LISTS) as host:
        person = Person()

        said = await host.seen_by(person=person).value("lists_tidy", at_most=3)

        assert message(person) == "Delete Trips, Old?"
        assert said == "deleted ['Trips', 'Old'], 1 of bodies"


async def test_a_person_is_sent_to_a_page(hosted: Hosting) -> None:
    async with hosted(LISTS) as host:
        person = Person()
        assert await host.seen_by(person=person).value("lists_share") == "shared: True"
        assert person.asked[0]["params"] == {
            "mode": "url",
            "message": "Sign in to Lists",
            "url": "https://lists.example/login",
            "elicitationId": "login-1",
        }
        refusing = host.seen_by(person=Person(visit=lambda params: False))
        assert (await refusing.error("lists_share"))["code"] == "cancelled"
        without = host.seen_by(person=Person(offers=frozenset({"elicitation"})))
        missing = await without.error("lists_share")
        assert missing["requiredCapabilities"] == {"elicitation": {"url": {}}}


async def test_a_model_is_shown_a_picture(hosted: Hosting) -> None:
    async with hosted(LISTS) as host:
        person = Person(text="a cat")
        assert await host.seen_by(person=person).value("lists_describe") == "a cat"
        first, second = person.asked[0]["params"]["messages"]
        assert first["content"] == {"type": "text", "text": "What is this?"}
        assert second["content"]["type"] == "image"


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("isolation", ["thread", "process"])
async def test_clients_of_both_eras_are_asked(
    machine: Any, tmp_path: Path, protocol: str, isolation: str
) -> None:
    settings = f'[host]\nisolation = "{isolation}"\n[packs.lists]\nenabled = true\n'
    info = tmp_path / "lists_pack-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lists-pack\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[mcp_host.packs]\nlists = lists_pack\n")
    person = Person()

    options: Any = {"packs": [tmp_path], "protocol": protocol, "person": person}
    async with machine.serve(settings, **options) as client:
        assert await client.value("lists_share") == "shared: True"
        assert await client.value("lists_empty") == "emptied Groceries"
        assert await client.value("lists_join") == "accept: ['Groceries']"
        assert await client.value("lists_describe") == person.text
        said = await client.value("lists_delete", name="Groceries")
        assert said == "deleted Groceries: True, 1 of bodies"
        assert message(person, 4) == "Delete Groceries with its 12 open items?"


def test_a_question_that_takes_the_service_needs_a_pack_that_has_one() -> None:
    from typing import Annotated

    from mcp_host import Ask

    def needs_it(service: object, /) -> bool:
        return True

    @tool
    def alone(sure: Annotated[bool, Ask(needs_it)]) -> str:
        "Ask."
        return "asked"

    with pytest.raises(DeclarationError, match="must have a mcp_host_open hook"):
        alone.verify(has_service=False)


def test_questions_that_cannot_be_are_refused() -> None:
    for wrong in ("text", [1], {"a": 1}):
        with pytest.raises(TypeError, match="must be texts"):
            Choice("Which?", wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must not be empty"):
        Choice("Which?", [])
    with pytest.raises(TypeError, match="texts, pictures, sounds"):
        Sample([1])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="one of its options"):
        Choice("Which?", ["a"]).read({"action": "accept", "content": {"value": "b"}})
    with pytest.raises(ValueError, match="needs an action"):
        Visit("Go", "https://x.example", "1").read({})
    assert Sample(Message(Image(b"x"))).wire()["params"]["messages"][0]["role"] == "user"
