"""Arguments are described and checked as a pydantic model of the same fields would."""

import inspect
import json
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

from hypothesis import given, settings, strategies as st
from mcp_host.declarations.arguments import DeclaredArguments
from mcp_host.declarations.input_schema import input_schema
from mcp_host.errors import InvalidInput
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12


class Colour(Enum):
    RED = "red"


class Row(TypedDict, total=False):
    """A row."""

    x: Annotated[int, Field(ge=1)]
    inner: list["Row"]


class Point(BaseModel):
    model_config = ConfigDict(extra="forbid")

    x: int = Field(alias="from")
    y: float | None = None


TYPES: list[Any] = [str, int, float, bool, Any, date, UUID, Colour, Row, Point, Literal["a", 1]]
NESTED = st.recursive(
    st.sampled_from(TYPES),
    lambda inner: st.one_of(
        inner.map(lambda kind: list[kind]),
        inner.map(lambda kind: dict[str, kind]),
        inner.map(lambda kind: tuple[kind, kind]),
        inner.map(lambda kind: kind | None if kind is not Any else kind),
    ),
    max_leaves=4,
)
WORDS = st.fixed_dictionaries(
    {},
    optional={
        "description": st.text("ab ", max_size=3),
        "title": st.just("T"),
        "examples": st.just([1]),
        "json_schema_extra": st.just({"x-own": {"b": 1, "a": 2}}),
        "default": st.none() | st.integers(0, 2),
    },
)
DEFAULTS = st.sampled_from([inspect.Parameter.empty, None, 1, "a", [1], {"x": 1}, Field(2)])
PARAMETERS = st.dictionaries(
    st.sampled_from(["x", "schema", "model_config", "_under", "default", "class_"]),
    st.tuples(NESTED, st.none() | WORDS, DEFAULTS),
    max_size=3,
)
TEXTS = st.sampled_from(["a", "1", "red", "2026-01-02", "5e8f8f8e-0000-4000-8000-000000000000"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.just(0.5) | TEXTS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["x", "inner", "from", "y", "odd"]), inner, max_size=2),
    ),
    max_leaves=4,
)


def made(given: dict[str, Any]) -> tuple[DeclaredArguments, type[BaseModel]]:
    parameters, fields = {}, {}
    for index, (name, (kind, words, default)) in enumerate(given.items()):
        hint = kind if words is None else Annotated[kind, Field(**words)]
        kept = inspect.Parameter("x", inspect.Parameter.KEYWORD_ONLY, default=default)
        parameters[name] = kept.replace(annotation=hint)
        aliased = Annotated[hint, Field(alias=name)]
        has_default = default is not inspect.Parameter.empty
        fields[f"p{index}"] = (aliased, default) if has_default else aliased
    config = ConfigDict(extra="forbid", protected_namespaces=())
    model: type[BaseModel] = create_model("Arguments", __config__=config, **fields)  # type: ignore[call-overload]
    return DeclaredArguments("owner", parameters), model


@settings(max_examples=100, deadline=None)
@given(PARAMETERS)
def test_the_schema_of_arguments_is_that_of_a_model_of_the_same_fields(given: Any) -> None:
    arguments, model = made(given)

    assert arguments.schema == input_schema(TypeAdapter(model))


@settings(max_examples=150, deadline=None)
@given(PARAMETERS, st.data())
def test_a_check_gives_and_refuses_what_that_model_does(given: Any, data: Any) -> None:
    arguments, model = made(given)
    names = st.sampled_from([*given, "unknown"])
    # What is meant by null and by texts of JSON is the host's own, and not asked here.
    values = VALUES.filter(lambda value: value is not None)
    call = data.draw(st.dictionaries(names, values, max_size=4))

    try:
        checked: Any = arguments.check(call)
    except InvalidInput as error:
        checked = {problem["argument"] for problem in error.details["arguments"]}
    try:
        wanted = model.model_validate_json(json.dumps(call), strict=True, extra="forbid")
        modelled: Any = {n: getattr(wanted, f"p{i}") for i, n in enumerate(given)}
    except ValidationError as error:
        modelled = {".".join(map(str, item["loc"])) for item in error.errors()}

    assert checked == modelled
