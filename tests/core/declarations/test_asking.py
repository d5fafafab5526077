"""Questions to a person, a model and the client's folders, declared on a tool's parameters."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

import pytest
from core_home import Home, pack_of
from mcp_host import Answer, Ask, Caller, Form, tool
from mcp_host.middleware.call import Asking
from mcp_host.testing import CallFailed, Person, hosted
from pydantic import BaseModel

LEGACY, MODERN = "2025-11-25", "2026-07-28"
DESK = {"desk": "desk_pack.plugin"}


def asked(person: Person) -> list[str]:
    """What was asked since the last time, in words."""
    words = [q.get("params", {}).get("message", q["method"]) for q in person.asked]
    person.asked.clear()
    return words


@pytest.mark.parametrize("protocol", [LEGACY, MODERN])
async def test_every_kind_of_question_is_answered_before_the_body_runs_once(
    home: Home, protocol: str
) -> None:
    home.write("[packs.desk]\n")
    answers: dict[str, Mapping[str, Any] | None] = {}
    person = Person(
        form=lambda message, schema: answers.get(message),
        text="in short",
        roots=["file:///house", "file:///play"],
    )

    async with home.stdio("--config", "mcp-host.toml", protocol=protocol, person=person) as client:
        answers = {"Shred ['a', 'b']?": {"sure": True}, "What shall x be called?": {"new": "y"}}
        shredded = await client.value("desk_shred", ids=["a", "b"])
        assert asked(person) == ["Shred ['a', 'b']?"]
        assert shredded == "shredded 2"
        assert await client.value("desk_runs", what="shred") == 1

        with pytest.raises(CallFailed) as refused:
            await client.value("desk_shred", ids=["c"])
        assert refused.value.envelope["code"] == "cancelled"
        assert await client.value("desk_runs", what="shred") == 1

        asked(person)
        assert await client.value("desk_rename", old="x") == ["x", "y", None]
        assert asked(person) == ["What shall x be called?", "Why is x now y?"]
        answers["Why is x now y?"] = {"why": "shorter"}
        assert await client.value("desk_rename", old="x") == ["x", "y", "shorter"]
        assert await client.value("desk_runs", what="rename") == 2

        assert await client.value("desk_post") == {"action": "decline", "street": None}
        answers["Where to?"] = {"street": "High Street", "number": 7, "kind": "work"}
        assert await client.value("desk_post") == {"action": "accept", "street": "High Street"}

        asked(person)
        assert await client.value("desk_burn", ids=["a"]) == "burnt ['a'] True None"
        assert asked(person) == ["Who saw 1 burn, when it was True?"]
        answers["Really burn 2?"] = {"value": False}
        answers["Who saw 2 burn, when it was False?"] = {"value": "Ann"}
        assert await client.value("desk_burn", ids=["a", "b"]) == "burnt ['a', 'b'] False Ann"

        summed = await client.value("desk_summarise", text="long")
        assert summed == {"summary": "in short", "folders": ["file:///house", "file:///play"]}

        assert await client.value("desk_note", text="n") == "n (None)"

    schema = person.asked  # nothing but plain fields goes to a client's form
    for question in schema:
        properties = question.get("params", {}).get("requestedSchema", {}).get("properties", {})
        assert all("$ref" not in field and "anyOf" not in field for field in properties.values())


async def test_an_answer_that_does_not_fit_is_an_error_when_asked_live_and_asked_again_when_not(
    home: Home,
) -> None:
    home.write("[packs.desk]\n")
    wrong = {"street": "High Street", "number": 0, "kind": "home"}
    right = {**wrong, "number": 1}

    live = Person(form=lambda message, schema: wrong)
    async with home.stdio("--config", "mcp-host.toml", person=live) as client:
        with pytest.raises(CallFailed) as misfit:
            await client.value("desk_post")
    given = iter([wrong, {"number": 3}, right])
    patient = Person(form=lambda message, schema: next(given))
    async with hosted(DESK) as host:
        posted = await host.seen_by(person=patient).value("desk_post")

    assert misfit.value.envelope["code"] == "validation_error"
    assert misfit.value.envelope["details"]["reason"] == "answer_invalid"
    assert posted["action"] == "accept"
    assert len(patient.asked) == 3


async def test_a_question_that_changes_each_time_ends_after_some_rounds() -> None:
    person = Person(form=lambda message, schema: {"value": "yes"})

    async with hosted(DESK) as host:
        error = await host.seen_by(person=person).error("desk_nag")

    assert error["code"] == "cancelled"
    assert error["details"]["reason"] == "too_many_rounds"
    assert 1 < len(person.asked) <= 10


async def test_an_answer_counts_for_the_question_that_was_asked_and_for_no_later_one() -> None:
    lost = [2]

    def how_many() -> Form[bool]:
        return Form(f"Lose {lost[0]} files?", bool)

    @tool
    def purge(
        sure: Annotated[bool, Ask(how_many)],
        why: Annotated[str, Ask("Why? {sure}")],
    ) -> str:
        return f"{sure}, {lost[0]}, {why}"

    def answer(message: str, schema: Any) -> dict[str, Any]:
        if message.startswith("Why"):
            lost[0] = 200  # while the person thinks about the second question
            return {"why": "tidy"}
        return {"value": message == "Lose 2 files?"}

    person = Person(form=answer)
    async with hosted({"made": pack_of(purge)}) as host:
        done = await host.seen_by(person=person).value("made_purge")

    assert asked(person) == ["Lose 2 files?", "Why? True", "Lose 200 files?", "Why? False"]
    assert done == "False, 200, tidy"


async def test_a_client_that_cannot_be_asked_is_told_so_in_the_words_of_its_era(home: Home) -> None:
    home.write("[packs.desk]\n")
    nobody = Person(offers=frozenset())

    async with home.stdio("--config", "mcp-host.toml", person=nobody) as client:
        with pytest.raises(CallFailed) as old:
            await client.value("desk_shred", ids=["a"])
        noted = await client.value("desk_note", text="n")
    async with home.stdio("--config", "mcp-host.toml", protocol=MODERN, person=nobody) as client:
        new = await client.raw_request(
            "tools/call", {"name": "desk_shred", "arguments": {"ids": ["a"]}}
        )
        noted_too = await client.value("desk_note", text="n")

    assert old.value.envelope["code"] == "unsupported"
    assert "elicitation" in old.value.envelope["error"]
    assert new["error"]["code"] == -32021
    assert new["error"]["data"]["requiredCapabilities"] == {"elicitation": {}}
    assert UUID(new["error"]["data"]["request_id"])
    assert noted == noted_too == "n (None)"


async def test_the_testing_kit_hears_what_a_client_of_each_era_would() -> None:
    async with hosted(DESK) as host:
        with pytest.raises(CallFailed, match=r"-32021: .*'elicitation'.* Person") as new:
            await host.value("desk_shred", ids=["a"])
        handshake = host.seen_by(Caller(protocol="2025-11-25"))
        old = await handshake.error("desk_shred", ids=["a"])
        mute = host.seen_by(Caller(protocol="2025-11-25", offers=Person().offers))
        unanswered = await mute.error("desk_shred", ids=["a"])
        person = Person()
        answered = await handshake.seen_by(person=person).value("desk_shred", ids=["a"])

    assert new.value.envelope["code"] == -32021
    assert new.value.envelope["requiredCapabilities"] == {"elicitation": {}}
    assert (old["code"], old["details"]["reason"]) == ("unsupported", "missing_capability")
    assert unanswered["details"]["reason"] == "client_refused"
    assert answered
    assert len(person.asked) == 1


async def test_a_person_who_thinks_holds_no_slot_and_no_deadline() -> None:
    timeouts = {"shred": {"timeout": 0.5}, "hold": {"timeout": 0.6}}
    tables = {
        "host": {"max_concurrency": 1},
        "packs": {"desk": {"max_concurrency": 1, "tools": timeouts}},
    }
    thinking, thought = asyncio.Event(), asyncio.Event()

    async def think(question: Any) -> dict[str, Any]:
        thinking.set()
        await thought.wait()
        return {"action": "accept", "content": {"sure": True}}

    async with hosted(DESK, tables) as host:
        able = host.seen_by(person=Person())
        context = able.host.context(able.caller)
        call = asyncio.create_task(
            able.host.call_tool("desk_shred", {"ids": ["a"]}, context, Asking(ask=think))
        )
        await thinking.wait()
        late = await able.error("desk_hold", gate="never")  # more time than the first call has
        greeting = await able.value("desk_greet", name="Ann")
        thought.set()
        result = (await call).data

    assert late["code"] == "timeout"
    assert greeting == "Hello Ann."
    assert result["content"][0]["text"] == "shredded 1"


async def test_waiting_for_a_person_has_a_limit_of_its_own() -> None:
    async def never(question: Any) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    async with hosted(DESK, {"host": {"asking_timeout": 0.05}}) as host:
        able = host.seen_by(person=Person())
        context = able.host.context(able.caller)
        answered = await able.host.call_tool(
            "desk_shred", {"ids": ["a"]}, context, Asking(ask=never)
        )
        result = answered.data
        ran = await able.value("desk_runs", what="shred")

    envelope = result["_meta"]["mcp-host/error"]
    assert (envelope["code"], envelope["details"]) == ("cancelled", {"reason": "no_answer"})
    assert ran == 0


async def test_a_client_that_goes_while_a_question_is_open_gets_its_answer_and_the_end(
    home: Home,
) -> None:
    home.write("[packs.desk]\n")
    greeting = {
        "protocolVersion": LEGACY,
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "silent", "version": "0"},
    }

    async with home.stdio("--config", "mcp-host.toml", handshake=False) as client:
        await client.raw_request("initialize", greeting)
        await client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        params = {"name": "desk_shred", "arguments": {"ids": ["a"]}}
        call = asyncio.create_task(client.raw_request("tools/call", params))
        await client.value("desk_greet", name="Ann")
        code = await client.end_input()
        answer = await call

    envelope = answer["result"]["_meta"]["mcp-host/error"]
    assert (envelope["code"], envelope["details"]) == ("cancelled", {"reason": "client_gone"})
    assert code == 0


async def test_a_prompt_asks_as_a_tool_does() -> None:
    person = Person(form=lambda message, schema: {"tone": "kindly"})

    async with hosted(DESK) as host:
        texts = await host.seen_by(person=person).prompt("desk_letter", to="Ann")

    assert texts == ["Dear Ann, kindly yours"]
    assert asked(person) == ["In which tone to Ann?"]


class Street(BaseModel):
    name: str


class Nested(BaseModel):
    street: Street


def nested(where: Annotated[Nested, Ask("Where?")]) -> str: ...
def either(what: Annotated[Answer[int | str], Ask("What?")]) -> str: ...
def misspelt(ids: list[str], sure: Annotated[bool, Ask("Delete {idz}?")]) -> str: ...
def unknown(sure: Annotated[bool, Ask(lambda ids: Form("?", bool))]) -> str: ...
def circle(a: Annotated[str, Ask("{b}?")], b: Annotated[str, Ask("{a}?")]) -> str: ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (nested, "'where': every field of a form must be plain; not plain: street"),
        (either, "'what': every field of a form must be plain"),
        (misspelt, "the question for 'sure' is made of 'idz'"),
        (unknown, "the question for 'sure' is made of 'ids'"),
        (circle, "the questions for a, b wait for each other"),
    ],
)
async def test_a_question_that_can_never_be_put_fails_its_pack_when_declared(
    function: Any, said: str
) -> None:
    async with hosted({"made": pack_of(tool(function))}) as host:
        (report,) = host.host.report()

    assert (report["state"], report["code"]) == ("failed", "declaration_invalid")
    assert said in report["reason"]
