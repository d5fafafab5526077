"""What the host writes of ordinary annotations is what pydantic says of them, or nothing."""

import json
import threading
import typing
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NotRequired,
    Required,
    TypeVar,
    Union,
    get_origin,
)

import pytest
from annotated_types import Ge
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp_host import Complete, Header, Prompt, Resource, Tool, schemas, tool
from mcp_host.contributions import verify
from mcp_host.signature import DeclarationError, read
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model, with_config
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import (  # pydantic wants this TypedDict before Python 3.12
    ReadOnly,
    TypeAliasType,
    TypedDict,
)


class Untitled(GenerateJsonSchema):
    """pydantic's own, without the titles that it makes of names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def pydantics_input(arguments: Mapping[str, tuple[Any, Any]]) -> Any:
    config = ConfigDict(extra="forbid", protected_namespaces=())
    fields: dict[str, Any] = {}
    for index, (name, (hint, default)) in enumerate(arguments.items()):
        annotated = Annotated[hint, Field(alias=name)]
        fields[f"p{index}"] = annotated if default is schemas.UNSET else (annotated, default)
    model = create_model("Arguments", __config__=config, **fields)
    return model.model_json_schema(schema_generator=Untitled)


def pydantics_output(hint: Any) -> Any:
    return TypeAdapter(hint).json_schema(mode="serialization", schema_generator=Untitled)


def said(ask: Callable[[Any], Any], subject: Any) -> str | None:
    """The JSON text of an answer, order and all; None where there is an error instead."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return json.dumps(ask(subject))
    except Exception:
        return None


# -- annotations

WORDS = st.text("abc .\n{}$", max_size=8)
NAMES = st.sampled_from(["a", "b", "default", "properties", "anyOf", "title", "items", "Row"])
PLAIN_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
PLAIN_TYPES = st.sampled_from([str, int, float, bool, None, Any, list, dict, datetime, date])
LITERALS = st.lists(
    st.integers(0, 3) | st.booleans() | st.sampled_from(["a", "b", "1"]), min_size=1, max_size=4
).map(lambda values: Literal[tuple(values)])
ABOUT = st.fixed_dictionaries(
    {},
    optional={
        "description": WORDS,
        "title": WORDS | st.just("Row"),
        "examples": st.lists(PLAIN_VALUES, max_size=2),
        "json_schema_extra": st.dictionaries(
            st.sampled_from(["maxLength", "x", "description"]), PLAIN_VALUES
        ),
    },
)
LENGTHS = st.fixed_dictionaries(
    {}, optional={"min_length": st.integers(0, 9), "max_length": st.integers(0, 9)}
)


def ranges(values: st.SearchStrategy[Any], steps: st.SearchStrategy[Any]) -> Any:
    bounds = dict.fromkeys(("ge", "gt", "le", "lt"), values)
    return st.fixed_dictionaries({}, optional={**bounds, "multiple_of": steps})


LIMITED = st.one_of(
    st.tuples(st.just(int), ranges(st.integers(-9, 9), st.integers(1, 9))),
    st.tuples(
        st.just(float),
        ranges(st.floats(-9, 9) | st.integers(-9, 9), st.integers(1, 9) | st.just(0.5)),
    ),
    st.tuples(st.just(str) | st.just(list) | st.just(list[str]), LENGTHS),
)
"""A type and limits that it may have."""


def union(kinds: list[Any]) -> Any:
    return Union[tuple(kinds)]  # noqa: UP007  of what is known at run time only


def maybe(kind: Any) -> Any:
    return union([kind, None])


@st.composite
def limited(draw: Any) -> Any:
    kind, limits = draw(LIMITED)
    kind = maybe(kind) if draw(st.booleans()) else kind
    return Annotated[kind, Field(**limits, **draw(ABOUT))]


@st.composite
def typed_dicts(draw: Any, kinds: st.SearchStrategy[Any], names: st.SearchStrategy[str]) -> Any:
    qualifiers = (lambda kind: kind, lambda kind: Required[kind], lambda kind: NotRequired[kind])
    fields = {
        name: draw(st.sampled_from(qualifiers))(draw(worded(kinds)))
        for name in draw(st.lists(NAMES, unique=True, max_size=3))
    }
    made: Any = TypedDict(draw(names), fields, total=draw(st.booleans()))  # type: ignore[operator]
    made.__doc__ = draw(st.none() | WORDS)
    return made


@st.composite
def worded(draw: Any, kinds: st.SearchStrategy[Any]) -> Any:
    """A type as it stands at a field: with words or without."""
    kind = draw(kinds)
    is_bare = get_origin(kind) is not Annotated and draw(st.booleans())
    return Annotated[kind, Field(**draw(ABOUT))] if is_bare else kind


def nested(inner: Any, names: st.SearchStrategy[str]) -> Any:
    return st.one_of(
        inner.map(lambda kind: list[kind]),
        inner.map(lambda kind: dict[str, kind]),
        inner.map(lambda kind: set[kind]),
        inner.map(lambda kind: frozenset[kind]),
        inner.map(lambda kind: tuple[kind, ...]),
        st.lists(inner, min_size=1, max_size=3).map(lambda kinds: tuple[tuple(kinds)]),
        inner.map(maybe),
        st.lists(inner, min_size=2, max_size=4).map(union),
        typed_dicts(inner, names),
    )


def annotations(leaves: Any, names: st.SearchStrategy[str]) -> Any:
    return st.recursive(leaves, lambda inner: nested(inner, names), max_leaves=6)


def arguments(kinds: Any, defaults: Any) -> Any:
    one = st.tuples(worded(kinds), st.just(schemas.UNSET) | defaults)
    return st.dictionaries(NAMES, one, max_size=4)


NUMBERS = count()
ORDINARY = annotations(
    PLAIN_TYPES | LITERALS | limited(),
    st.builds(lambda: f"Row{next(NUMBERS)}"),  # no two have one name
)


# -- odd ones


class Point(BaseModel):
    """A point."""

    x: int = 1


@dataclass
class Box:
    x: int


class Colour(Enum):
    RED = "a"


T = TypeVar("T")


class Row(TypedDict):
    """A row."""

    x: int


class Longer(Row, total=False):
    y: Annotated[list[Row], Field(description="More")]


class Tree(TypedDict):
    next: "Tree | None"


class Lost(TypedDict):
    x: "NobodyKnowsIt"  # type: ignore[name-defined]  # noqa: F821


class Boxed(TypedDict, Generic[T]):
    x: T


@with_config(ConfigDict(extra="allow"))
class Welcoming(TypedDict):
    x: int


class Welcomed(Welcoming):
    y: int


class Closed(TypedDict, closed=True):  # type: ignore[call-arg]
    x: int


class Extra(TypedDict, extra_items=int):  # type: ignore[call-arg]
    x: int


class Arguments(TypedDict):
    x: int


class Standard(typing.TypedDict):
    """A row."""

    x: NotRequired[int]


class LongerStandard(Standard):
    y: Row


class Fixed(TypedDict):
    x: ReadOnly[int]
    y: Required[ReadOnly[str]]


Rows = TypeAliasType("Rows", list[Row])
Several = TypeAliasType("Several", list[T], type_params=(T,))
Nest = TypeAliasType("Nest", "list[Nest] | int")  # type: ignore[misc]


def upper(schema: Any) -> None:
    schema["title"] = "UP"


ODD: list[Any] = [
    *(Point, Box, Colour, Row, Longer, Tree, Lost, Boxed, Boxed[int], Welcoming, Welcomed, Closed),
    *(Standard, LongerStandard, Fixed, Rows, Several, Several[int], Nest),
    *(Extra, Arguments, object, bytes, complex, Callable[[], int], T, "int", set, tuple),
    *(tuple[()], tuple[int, ...], dict[int, str], dict[Annotated[str, Field(max_length=1)], int]),
    *(list[Point], dict[str, Annotated[int, Field(title="T")]], Literal[None, "a"], Literal[b"a"]),
    *(Literal["\ud800"], Literal[Colour.RED], Required[int], Annotated[Required[int], 1]),
    *(Annotated[int, Ge(1)], Annotated[int, Ge(1), Ge(2)], Annotated[int, "words"]),
    *(Annotated[str, Header("X")], Annotated[str, Complete(lambda value: [])]),
    Annotated[Row, Field(title="Row", description="A row.")],
    Annotated[Row, Field(description="Another", json_schema_extra={"type": "object"})],
    Annotated[Row | None, Field(description="Or none")],
    list[Annotated[Row, Field(description="Inside")]],
    list[Annotated[int, Field(description="Inside", default=1)]],
    Annotated[int, Field(description="a"), Field(title="b")],
    Annotated[int | str, Field(ge=1)],
    Annotated[list[str] | None, Field(min_length=1)],
    Annotated[str | None, Header("X"), Field(description="d")],
    *(Annotated[kind, Field(ge=1)] for kind in (str, bool, dict[str, int], Any, None, Row)),
    *(Annotated[kind, Field(min_length=1)] for kind in (int, dict[str, int], set[int], Row, Any)),
    *(Annotated[int, Field(ge=value)] for value in (0.5, True, 10**30, float("nan"))),
    *(Annotated[float, Field(ge=value)] for value in (0.5, True, float("inf"), float("nan"))),
    *(Annotated[int, Field(multiple_of=value)] for value in (0, -1)),
    *(Annotated[str, Field(min_length=value)] for value in (-1, 0, 2**70)),
    *(Annotated[str, Field(pattern=value)] for value in ("^a$", "(")),
    *(Annotated[int, Field(json_schema_extra=extra)] for extra in (upper, {"$ref": "#/x"}, {})),
    Annotated[list[Row], Field(json_schema_extra={"items": {"type": "object"}})],
    Annotated[list[Any] | None, Field(json_schema_extra={"items": {"type": "object"}})],
    Annotated[list[Any], Field(json_schema_extra={"items": {"z": 1, "a": {"properties": {}}}})],
    Annotated[str | None, Field(json_schema_extra={"enum": ["b", "a"]})],
    *(Annotated[int, Field(examples=value)] for value in ([object()], [{"$ref": "x"}], [])),
    *(Annotated[int, Field(default=value)] for value in (1, None, "x", object())),
    Annotated[list[int], Field(default_factory=list)],
    *(Annotated[int, Field(**more)] for more in ({"alias": "z"}, {"strict": True}, {"gt": None})),
    *(Annotated[int, Field(**more)] for more in ({"deprecated": True}, {"exclude": True})),
    *(Annotated[int, Point.model_fields["x"]],),
]
DEFAULTS = PLAIN_VALUES | st.sampled_from(
    [object(), (1,), {1}, float("nan"), {"$ref": "x"}, {1: 2}, "\ud800", Point(), Field(1), ...]
)
NEVER_NONE = settings(max_examples=700, deadline=None, suppress_health_check=list(HealthCheck))


@NEVER_NONE
@given(arguments(ORDINARY, PLAIN_VALUES))
def test_ordinary_arguments_are_written_in_pydantics_very_words(given: Any) -> None:
    written = json.dumps(schemas.of_arguments(given))

    assert written == json.dumps(pydantics_input(given))


@NEVER_NONE
@given(ORDINARY)
def test_ordinary_results_are_written_in_pydantics_very_words(hint: Any) -> None:
    written = json.dumps(schemas.of_output(hint))

    assert written == json.dumps(pydantics_output(hint))


@NEVER_NONE
@given(
    arguments(
        annotations(st.sampled_from(ODD) | PLAIN_TYPES | LITERALS | limited(), NAMES), DEFAULTS
    )
)
def test_of_odd_arguments_the_same_is_written_or_nothing(given: Any) -> None:
    written = schemas.of_arguments(given)

    assert written is None or json.dumps(written) == said(pydantics_input, given)


@NEVER_NONE
@given(annotations(st.sampled_from(ODD) | PLAIN_TYPES | LITERALS | limited(), NAMES))
def test_of_odd_results_the_same_is_written_or_nothing(hint: Any) -> None:
    written = schemas.of_output(hint)

    assert written is None or json.dumps(written) == said(pydantics_output, hint)


# -- when


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
def test_a_parameter_that_pydantic_refuses_is_refused_when_it_is_read(function: Any) -> None:
    with pytest.raises(DeclarationError, match=rf"\.{function.__name__}: a parameter has no JSON"):
        read(function)


def test_what_checks_may_be_made_by_many_threads_at_once() -> None:
    together = threading.Barrier(8)

    def call(shared: Tool) -> Any:
        together.wait()
        return shared.signature.check({"row": {"x": 2}}), shared.answer({"x": 3})

    for _ in range(20):

        class New(TypedDict):
            x: int

        def keep(row: New) -> New: ...

        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(call, [tool(keep)] * 8))

        assert [checked for checked, _ in answers] == [{"row": {"x": 2}}] * 8
        assert [answer["structuredContent"] for _, answer in answers] == [{"x": 3}] * 8


@pytest.mark.parametrize("pack", ["cortex_tasks", "openspec", "tasky", "todo_db"])
def test_the_lists_of_the_packs_here_need_nothing_built_by_pydantic(pack: str) -> None:
    rooms = [f"mcp_host_{pack}.{room}" for room in ("tools", "resources", "prompts")]
    found = [
        thing.replace()  # which nothing has read yet
        for room in rooms
        if find_spec(room)
        for thing in vars(import_module(room)).values()
        if isinstance(thing, Tool | Resource | Prompt)
    ]
    for contribution in found:
        verify(contribution, has_service=True)

    assert len(found) >= 5
    for read_one in (contribution.signature for contribution in found):
        assert "model" not in vars(read_one)
        assert read_one.output is None or read_one.output.made is None
