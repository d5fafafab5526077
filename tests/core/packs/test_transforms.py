"""What the settings make of a pack's tools: names, words, arguments, answers that are kept."""

from typing import Any

import pytest
from core_home import Hosting
from mcp_host import Caller
from mcp_host.testing import Hosted

pytestmark = pytest.mark.anyio

SAMPLE = {"sample": "sample_pack.plugin"}
ANN, BOB = (Caller(subject=name, scopes=frozenset("*")) for name in ("ann", "bob"))


def of(tool: str, **settings: Any) -> dict[str, Any]:
    return {"packs": {"sample": {"tools": {tool: settings}}}}


def state(host: Hosted) -> tuple[Any, ...]:
    (report,) = (each for each in host.host.report() if each["name"] == "sample")
    return report["state"], report.get("code"), report.get("reason", "")


async def test_a_tool_has_the_name_and_the_words_of_the_settings_and_works(hosted: Hosting) -> None:
    settings = of("hold", name="wait", description="Waits.")
    async with hosted(SAMPLE, settings) as host:
        names = host.names()
        assert "sample_wait" in names
        assert "sample_hold" not in names
        assert host.listed("sample_wait")["description"] == "Waits."
        assert "sample_wait waits" in host.listed("sample_echo")["description"]
        assert (await host.error("sample_hold", gate="x"))["code"] == "not_found"
        assert (await host.error("sample_wait"))["code"] == "validation_error"


async def test_a_hidden_tool_is_as_if_it_were_not_there(hosted: Hosting) -> None:
    async with hosted(SAMPLE, of("echo", hidden=True)) as host:
        assert "sample_echo" not in host.names()
        hidden = await host.error("sample_echo", text="x")
        nowhere = await host.error("sample_nowhere", text="x")
        assert host.host.input_schema("sample_echo") is None

    assert hidden["code"] == nowhere["code"] == "not_found"
    assert "sample_echo" not in str(hidden.get("suggestions"))


async def test_arguments_are_set_hidden_and_described(hosted: Hosting) -> None:
    arguments = {
        "text": {"value": "set", "hidden": True},
        "number": {"value": 7, "description": "Seven unless said."},
    }
    async with hosted(SAMPLE, of("echo", arguments=arguments)) as host:
        schema = host.listed("sample_echo")["inputSchema"]
        assert set(schema["properties"]) == {"number", "data"}
        assert schema["properties"]["number"]["description"] == "Seven unless said."
        assert schema["properties"]["number"]["default"] == 7
        assert (await host.value("sample_echo"))["text"] == "set"
        assert await host.value("sample_echo", number=8) == {
            "text": "set",
            "number": 8,
            "data": None,
        }
        refused = await host.error("sample_echo", text="mine")

    assert refused["code"] == "validation_error"
    assert "Unknown argument 'text'" in refused["error"]


async def test_a_required_argument_with_a_value_is_required_no_more(hosted: Hosting) -> None:
    async with hosted(SAMPLE, of("big", arguments={"size": {"value": 3}})) as host:
        assert "required" not in host.listed("sample_big")["inputSchema"]
        assert await host.value("sample_big") == "xxx"
        assert await host.value("sample_big", size=2) == "xx"


@pytest.mark.parametrize(
    ("tool", "settings", "why"),
    [
        ("echo", {"arguments": {"txt": {"value": "x"}}}, "no such argument; did you mean 'text'?"),
        ("echo", {"arguments": {"number": {"value": "x"}}}, "'x' is not of type 'integer'"),
        ("big", {"arguments": {"size": {"hidden": True}}}, "what is hidden needs a value"),
        ("hold", {"cache": 5}, "only answers of tools that are marked read-only are kept"),
    ],
)
async def test_settings_that_do_not_fit_the_tool_fail_its_pack_with_the_key(
    hosted: Hosting, tool: str, settings: dict[str, Any], why: str
) -> None:
    async with hosted(SAMPLE, of(tool, **settings)) as host:
        name, code, reason = state(host)

    assert (name, code) == ("failed", "settings_invalid")
    assert f"packs.sample.tools.{tool}." in reason
    assert why in reason


async def test_a_kept_answer_is_its_callers_own_and_bears_the_request_that_asked(
    hosted_in_threads: Hosting,
) -> None:
    async with hosted_in_threads(SAMPLE, of("count", cache=60)) as host:
        ann, bob = host.seen_by(ANN), host.seen_by(BOB)
        first, again = await ann.call("sample_count"), await ann.call("sample_count")
        other = await bob.call("sample_count")
        nobody = host.seen_by(Caller(connection=None))
        untold = [await nobody.value("sample_count") for _ in range(2)]

    assert first["content"] == again["content"]
    assert first["_meta"] != again["_meta"]
    assert other["content"] != first["content"]
    assert untold[0] != untold[1]


async def test_a_write_and_a_change_end_what_is_kept_of_the_pack(
    hosted_in_threads: Hosting,
) -> None:
    async with hosted_in_threads(SAMPLE, of("count", cache=60)) as host:
        gates = host.host.running["sample"].worker.service  # type: ignore[attr-defined]
        first = await host.value("sample_count")
        assert await host.value("sample_count") == first
        await host.value("sample_let_go", gate="g")
        second = await host.value("sample_count")
        gates.changed("sample://plain")
        while await host.changes.get() != "sample://plain":
            pass
        third = await host.value("sample_count")

    assert len({first, second, third}) == 3
