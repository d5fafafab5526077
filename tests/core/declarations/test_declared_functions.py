"""What a function may declare, and what is said of one that may not."""

import copy
import sys
import threading
import typing
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

import pytest
from core_home import pack_of
from mcp_host import Ask, Context, Header, Image, Tool, prompt, resource, tool
from mcp_host.declarations.errors import DeclarationError
from mcp_host.testing import Person, hosted
from pydantic import Field
from typing_extensions import (  # pydantic wants this TypedDict before Python 3.12
    TypeAliasType,
    TypedDict,
)

# That of typing, since Python 3.12, may be another class.
NAMERS = list(dict.fromkeys([TypeAliasType, getattr(typing, "TypeAliasType", TypeAliasType)]))


def by_header(region: Annotated[str, Header("Region")]) -> str: ...
def float_header(region: Annotated[float, Header("Region")]) -> str: ...
def maybe_header(region: Annotated[str | None, Header("Region")] = None) -> str: ...
def star(*everything: str) -> str: ...
def two_before(one: Any, two: Any, /) -> str: ...
def unserialisable(thing: Callable[[], int]) -> str: ...
def unresolved(thing: "NobodyKnowsIt") -> str: ...  # type: ignore[name-defined]  # noqa: F821
def with_service(service: "NobodyKnowsIt", /, x: int) -> str: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (float_header, "'region' must be a plain str, int or bool for Header('Region')"),
        (maybe_header, "'region' must be a plain str, int or bool for Header('Region')"),
        (star, "*everything has no place in a schema"),
        (two_before, "only the service may stand before '/', not also two"),
        (unserialisable, ".unserialisable: every parameter must have a JSON form"),
        (unresolved, "name 'NobodyKnowsIt' is not defined"),
        (with_service, "the pack must have a mcp_host_open hook"),
    ],
)
async def test_what_cannot_serve_fails_its_pack_when_declared(function: Any, said: str) -> None:
    async with hosted({"made": pack_of(tool(function))}) as host:
        (report,) = host.host.report()

    assert (report["state"], report["code"]) == ("failed", "declaration_invalid")
    assert said in report["reason"]


def too_short(x: Annotated[str, Field(min_length=-1)]) -> str: ...
def no_step(x: Annotated[int | None, Field(multiple_of=0)] = None) -> str: ...
def half(x: Annotated[int, Field(ge=0.5)]) -> str: ...
def bad_pattern(x: Annotated[str, Field(pattern="(")]) -> str: ...
def surrogate(x: Literal["\ud800"]) -> str: ...
def instance(x: list[threading.Thread]) -> str: ...


@pytest.mark.parametrize(
    "function",
    [too_short, no_step, half, bad_pattern, surrogate, instance],
    ids=lambda function: function.__name__,
)
@pytest.mark.parametrize(
    "kind", [tool, resource("made://{x}"), prompt], ids=["tool", "resource", "prompt"]
)
def test_a_parameter_that_pydantic_refuses_is_refused_when_it_is_declared(
    function: Any, kind: Any
) -> None:
    said = rf"\.{function.__name__}: every parameter must have a JSON form"

    with pytest.raises(DeclarationError, match=said):
        kind(function).verify(has_service=False)


def test_what_checks_may_be_made_by_many_threads_at_once() -> None:
    together = threading.Barrier(8)

    def call(shared: Tool) -> Any:
        together.wait()
        return shared.signature.arguments.check({"row": {"x": 2}}), shared.answer({"x": 3})

    for _ in range(20):

        class New(TypedDict):
            x: int

        def keep(row: New) -> New: ...

        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(call, [tool(keep)] * 8))

        assert [checked for checked, _ in answers] == [{"row": {"x": 2}}] * 8
        assert [answer["structuredContent"] for _, answer in answers] == [{"x": 3}] * 8


async def test_the_annotation_of_the_service_is_never_evaluated() -> None:
    def use(service: "1 / 0", /, x: int, context: Context) -> str:  # type: ignore[valid-type]
        return f"{service} {x} {bool(context.request_id)}"

    @asynccontextmanager
    async def opens() -> Any:
        yield "served"

    async with hosted({"made": pack_of(tool(use), mcp_host_open=lambda: opens())}) as host:
        value = await host.value("made_use", x=1)
        schema = host.listed("made_use")["inputSchema"]
        named = await host.error("made_use", x=1, context={}, service=1)

    assert value == "served 1 True"
    assert list(schema["properties"]) == ["x"]
    assert named["code"] == "validation_error"


async def test_a_header_stands_in_the_schema_for_clients_to_repeat() -> None:
    async with hosted({"made": pack_of(tool(by_header))}) as host:
        schema = host.listed("made_by_header")["inputSchema"]

    assert schema["properties"]["region"] == {"type": "string", "x-mcp-header": "Region"}


async def test_a_schema_of_ones_own_is_published_as_it_is_and_checked() -> None:
    own = {
        "type": "object",
        "properties": {"n": {"enum": [1, 2]}},
        "required": ["n"],
        "x-mine": {"kept": None},
    }

    @tool(input_schema=own)
    def free(arguments: dict[str, Any]) -> dict[str, Any]:
        return arguments

    async with hosted({"made": pack_of(free)}) as host:
        listed = host.listed("made_free")["inputSchema"]
        value = await host.value("made_free", n=2, more=[1])
        error = await host.error("made_free", n=3)
        missing = await host.error("made_free")

    assert listed == own
    assert value == {"n": 2, "more": [1]}
    assert "n: must be one of 1, 2" in error["error"]
    assert "needs n" in missing["error"]


def test_a_declared_tool_can_be_copied_whole_and_read_again() -> None:
    declared = tool(by_header)
    declared.listed("made", str)

    copied = copy.deepcopy(declared)

    assert copied == declared
    assert copied.listed("made", str) == declared.listed("made", str)


async def test_a_default_may_stand_behind_the_parameter_or_in_its_annotation() -> None:
    @tool
    def add(
        a: Annotated[int, Field(default=1)],
        b: Annotated[list[int], Field(default_factory=list)],
        c: int = 3,
        d: int = Field(4, description="Told."),
    ) -> list[int]:
        return [a, *b, c, d]

    async with hosted({"made": pack_of(add)}) as host:
        schema = host.listed("made_add")["inputSchema"]
        value = await host.value("made_add")

    assert "required" not in schema
    assert schema["properties"]["d"]["description"] == "Told."
    assert value == [1, 3, 4]


@pytest.mark.parametrize("named", NAMERS)
async def test_a_type_means_the_same_under_a_name_of_its_own(named: Any) -> None:
    kinds = {
        "sure": named("Sure", Annotated[bool, Ask("Draw it?")]),
        "again": Annotated[named("Maybe", bool | None), Ask("Again?")],
        "width": named("Width", named("Whole", int) | None),
        "colour": named("Coloured", Annotated[str, Field(max_length=3)]),
        "return": named("Picture", Image),
    }
    seen: list[Any] = []

    def draw(sure: bool, again: bool | None, colour: str, width: int | None = 5) -> Image:
        seen.extend([sure, again, width, colour])
        return Image(b"drawn")

    draw.__annotations__ = kinds

    async with hosted({"made": pack_of(tool(draw))}) as host:
        schema = host.listed("made_draw")["inputSchema"]
        person = Person(form=lambda message, _: {"sure": True} if message == "Draw it?" else None)
        result = await host.seen_by(person=person).call("made_draw", colour="red", width=None)

    assert set(schema["properties"]) == {"colour", "width"}
    assert seen == [True, None, None, "red"]
    assert [part["type"] for part in result["content"]] == ["image"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is that of Python 3.12")
@pytest.mark.parametrize("first_line", ["", "from __future__ import annotations"])
async def test_types_may_be_declared_with_the_syntax_of_python_3_12(first_line: str) -> None:
    source = f"""{first_line}
type Words = list[str]
def first[T: (int, str)](things: dict[str, T], words: Words) -> T: return things[words[0]]
"""
    module: dict[str, Any] = {"__name__": "modern"}
    exec(source, module)

    async with hosted({"made": pack_of(tool(module["first"]))}) as host:
        value = await host.value("made_first", things={"a": 1}, words=["a"])
        error = await host.error("made_first", things={"a": 1}, words="a")

    assert value == 1
    assert "words" in error["error"]
