"""A function's signature is its schema: what is published is what is accepted, and nothing else."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from core_home import pack_of
from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator
from mcp_host import tool
from mcp_host.testing import Hosted, hosted
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import (  # pydantic wants this TypedDict before Python 3.12
    TypedDict,
)


class Point(BaseModel):
    """A point."""

    x: int
    y: int | None = None


class Size(TypedDict):
    x: int


class Loose(TypedDict, total=False):
    x: int
    y: list[str]


@dataclass
class Box:
    x: int
    name: str = "box"


class Colour(Enum):
    RED = "a"
    BLUE = "b"


class Tree(BaseModel):
    x: int
    next: "Tree | None" = None


class Cat(BaseModel):
    kind: Literal["cat"]
    x: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Named(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    of: str = Field(alias="from")


class Welcoming(BaseModel):
    model_config = ConfigDict(extra="allow")

    x: int


KINDS: dict[str, Any] = {
    "whole": int,
    "number": float,
    "flag": bool,
    "text": str,
    "anything": Any,
    "literal": Literal["a", "b"],
    "mixed_literal": Literal[1, "a", True],
    "enum": Colour,
    "small": Annotated[int, Field(ge=0, le=3)],
    "above": Annotated[float, Field(gt=0, multiple_of=0.5)],
    "short": Annotated[str, Field(min_length=1, max_length=2, pattern="^[a-x]+$")],
    "wholes": list[int],
    "few": Annotated[list[str], Field(min_length=1, max_length=2)],
    "table": dict[str, int],
    "free_table": dict[str, Any],
    "pair": tuple[int, str],
    "point": Point,
    "points": list[Point],
    "by_name": dict[str, Point],
    "size": Size,
    "loose": Loose,
    "box": Box,
    "tree": Tree,
    "pet": Annotated[Cat | Dog, Field(discriminator="kind")],
    "either_pet": Cat | Dog,
    "named": Named,
    "welcoming": Welcoming,
    "whole_or_text": int | str,
    "text_or_list": str | list[int],
    "maybe_whole": int | None,
    "maybe_point": Point | None,
    "maybe_list": list[int] | None,
    "maybe_whole_or_text": int | str | None,
}
NAMES = ("x", "default", "anyOf", "properties", "schema", "title", "_under", "items")


def family() -> list[Any]:
    tools = [
        tool_of(name, kind, False, NAMES[index % len(NAMES)])
        for index, (name, kind) in enumerate(KINDS.items())
    ]
    return tools + [tool_of(name, KINDS[name], True, "x") for name in ("whole", "text")]


def tool_of(name: str, kind: Any, optional: bool, parameter: str) -> Any:
    default = " = None" if name.startswith("maybe") else ""
    spaces: dict[str, Any] = {}
    exec(f"def {name}(*, {parameter}{default}, other=5): return 'taken'", spaces)
    function = spaces[name]
    function.__annotations__ = {parameter: kind, "other": int, "return": str}
    if optional:
        function.__kwdefaults__[parameter] = {"whole": 1, "text": "a"}[name]
    return tool(name=f"{name}_optional" if optional else name)(function)


VALUES = st.sampled_from(
    [
        *(None, True, False, 0, 1, -1, 4, 1.0, 0.5, 2.5, 10**20, "a", "b", "abc", "z", "", "1"),
        *("[1]", '{"x": 1}', '"a"', "null", "[", "[[1]]", '["a"]'),
        *([], [1], [1.0], [1, "a"], ["a"], ["a", "b", "c"], [None], [True], [[1]]),
        *({}, {"x": 1}, {"x": 1.0}, {"x": "1"}, {"x": None}, {"x": 1, "y": 2}, {"x": 1, "y": None}),
        *({"x": 1, "z": 3}, {"y": ["a"]}, {"x": 1, "name": "n"}, {"name": 1}, {"from": "a"}),
        *({"of": "a"}, {"kind": "cat"}, {"kind": "cat", "x": 1}, {"kind": "dog", "name": "n"}),
        *({"kind": "dog"}, {"kind": "cow"}, {"x": 1, "next": {"x": 2}}, {"x": 1, "next": {}}),
        *([{"x": 1}], [{"x": 1, "z": 1}], [{"x": 1}, 1], {"k": {"x": 1}}, {"k": {"x": 1, "q": 1}}),
    ]
)


@dataclass
class Family:
    """The tools, and a way to call them from a test that is no coroutine."""

    host: Hosted
    portal: BlockingPortal

    def accepts(self, name: str, arguments: dict[str, Any]) -> bool:
        result = self.portal.call(lambda: self.host.call(name, **arguments))
        if not result.get("isError"):
            return True
        assert result["_meta"]["mcp-host/error"]["code"] == "validation_error"
        return False

    def error(self, name: str, value: Any, **more: Any) -> dict[str, Any]:
        arguments = {self.parameter(name): value, **more}
        return self.portal.call(lambda: self.host.error(name, **arguments))

    def parameter(self, name: str) -> str:
        """The name of the tool's one parameter of interest."""
        return next(key for key in self.schema(name)["properties"] if key != "other")

    def schema(self, name: str) -> dict[str, Any]:
        schema: dict[str, Any] = self.host.listed(name)["inputSchema"]  # type: ignore[assignment]
        return schema


@pytest.fixture(scope="module")
def tools() -> Iterator[Family]:
    module = pack_of(*family())
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(hosted({"made": module}, prefixless())) as host,
    ):
        assert len(host.names()) == len(family())
        yield Family(host, portal)


def prefixless() -> dict[str, Any]:
    return {"packs": {"made": {"prefix": ""}}}


def readings(arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The arguments as they may be meant: null as absent, a string as the JSON it holds."""
    yield arguments
    yield {name: value for name, value in arguments.items() if (name, value) != ("other", None)}
    yield _without_nulls(arguments)
    for name, value in arguments.items():
        if isinstance(value, str):
            try:
                yield _without_nulls({**arguments, name: json.loads(value)})
            except ValueError:
                continue


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


@settings(max_examples=1500, deadline=None)
@given(data=st.data())
def test_what_the_published_schema_accepts_the_tool_accepts_and_nothing_else(
    tools: Family, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(tools.host.names())))
    schema = tools.schema(name)
    parameter = tools.parameter(name)
    arguments = data.draw(
        st.fixed_dictionaries(
            {parameter: VALUES}, optional={"other": VALUES, "unknown": st.just(1)}
        )
    )

    is_valid = Draft202012Validator(schema).is_valid
    accepted = tools.accepts(name, arguments)

    if is_valid(arguments):
        assert accepted
    if accepted:
        assert any(is_valid(reading) for reading in readings(arguments))


def test_schemas_are_closed_and_hold_no_title_null_or_empty_default(tools: Family) -> None:
    def check(schema: Any) -> None:
        if isinstance(schema, list):
            for item in schema:
                check(item)
        elif isinstance(schema, dict):
            assert "title" not in schema
            assert schema.get("type") != "null"
            assert schema.get("default", 0) is not None
            if schema.get("type") == "object" and "properties" in schema:
                assert schema["additionalProperties"] is False
            for key, value in schema.items():
                check(list(value.values()) if key in ("properties", "$defs") else value)

    for name in tools.host.names():
        schema = tools.schema(name)
        Draft202012Validator.check_schema(schema)
        check(schema)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("literal", "c", "Input should be 'a' or 'b'"),
        ("enum", "c", "Input should be 'a' or 'b'"),
        ("whole", "1", "Input should be a valid integer"),
        ("small", 9, "Input should be less than or equal to 3"),
        ("points", [{"x": 1}, {"x": "1"}], ".1.x: Input should be a valid integer"),
        ("wholes", "[1", "Input should be a valid array"),
        ("size", {}, ".x: is required"),
    ],
)
def test_an_error_says_where_it_is_and_what_is_allowed(
    tools: Family, name: str, value: Any, said: str
) -> None:
    error = tools.error(name, value)

    assert error["code"] == "validation_error"
    assert f"Invalid arguments: {tools.parameter(name)}" in error["error"]
    assert said in error["error"]
    assert error["details"]["reason"] == "invalid_arguments"


def test_an_unknown_name_is_answered_with_the_nearest_known_one_also_deep_inside(
    tools: Family,
) -> None:
    top = tools.error("tree", {"x": 1}, othr=1)
    deep = tools.error("tree", {"x": 1, "next": {"x": 1, "nxt": {"x": 1}}})
    in_list = tools.error("points", [{"xx": 1, "x": 1}])

    assert top["suggestions"] == ["Did you mean 'other' instead of 'othr'?"]
    assert deep["suggestions"] == ["Did you mean 'next' instead of 'nxt'?"]
    assert in_list["suggestions"] == ["Did you mean 'x' instead of 'xx'?"]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({"ids": ["a"]}, "Did you mean 'task_ids' instead of 'ids'?"),
        ({"id": "a"}, "Did you mean 'task_ids' instead of 'id'?"),
        ({"todo": ["a"]}, "Did you mean 'task_ids' instead of 'todo'?"),  # the one that is missing
        ({"field": "a"}, "Did you mean 'fields' instead of 'field'?"),
        ({"task_ids": [], "due_after": "a"}, "Did you mean 'due_before' instead of 'due_after'?"),
        ({"task_ids": "abcd"}, "Give 'task_ids' as an array, as in [\"…\"]."),
        ({"task_ids": [], "limit": "20"}, "Give 'limit' as a number, without quotes."),
        ({"task_ids": [], "ready": "yes"}, "Give 'ready' as true or false, without quotes."),
        ({"task_ids": [], "limit": "abcd"}, None),
    ],
)
async def test_a_hint_names_the_argument_that_is_meant_and_how_to_give_it(
    arguments: dict[str, Any], hint: str | None
) -> None:
    @tool
    def find(
        task_ids: list[str],
        fields: list[str] | None = None,
        created_after: str | None = None,
        due_before: str | None = None,
        limit: int = 5,
        ready: bool = False,
    ) -> str:
        return ""

    async with hosted({"plan": pack_of(find)}) as host:
        error = await host.error("plan_find", **arguments)

    assert error.get("suggestions", []) == ([hint] if hint else [])
    assert "abcd" not in json.dumps(error)


def test_an_error_repeats_neither_the_values_nor_a_thousand_findings(tools: Family) -> None:
    error = tools.error("wholes", ["not-to-be-repeated"] * 1000)

    assert "not-to-be-repeated" not in json.dumps(error)
    assert len(error["error"]) < 1000
    assert len(error["details"]["arguments"]) == 50
