"""What a pack says that its arguments must be."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from hostile.registry import in_call, with_schema

Schema = dict[str, Any]


def _of(schema: Schema, **more: Any) -> Schema:
    return {"type": "object", "properties": {"value": schema}, **more}


@with_schema(value="a" * 40 + "b")
def has_a_costly_pattern() -> Schema:
    """Has an own schema with a pattern that takes for ever on some texts."""
    return _of({"type": "string", "pattern": "^(a+)+$"})


@with_schema(value={"a" * 40 + "b": 1})
def has_a_costly_pattern_for_names() -> Schema:
    """Has an own schema with a costly pattern for the names of properties."""
    return _of({"type": "object", "patternProperties": {"^(a+)+$": {"type": "integer"}}})


@with_schema(value=1)
def refers_in_a_circle() -> Schema:
    """Has an own schema whose references go in a circle."""
    circle = {"one": {"$ref": "#/$defs/two"}, "two": {"$ref": "#/$defs/one"}}
    return _of({"$ref": "#/$defs/one"}, **{"$defs": circle})


@with_schema(value=1)
def refers_far_away() -> Schema:
    """Has an own schema that refers to another machine."""
    return _of({"$ref": "http://127.0.0.1:9/schema.json"})


@with_schema(value=1)
def refers_to_nothing() -> Schema:
    """Has an own schema that refers to what is not in it."""
    return _of({"$ref": "#/$defs/nowhere"})


@with_schema(value=[[]])
def is_deep() -> Schema:
    """Has an own schema of arrays in each other, 3,000 deep."""
    schema: Schema = {"type": "array"}
    for _ in range(3_000):
        schema = {"type": "array", "items": schema}
    return _of(schema)


@with_schema(value=[1] * 30)
def branches_at_every_step() -> Schema:
    """Has an own schema whose references double at each of 30 levels."""
    defs: Schema = {"level0": {"type": "string"}}
    for level in range(1, 30):
        below = {"$ref": f"#/$defs/level{level - 1}"}
        defs[f"level{level}"] = {"anyOf": [below, below]}
    return _of({"$ref": "#/$defs/level29"}, **{"$defs": defs})


@with_schema(value=1)
def is_nonsense() -> Schema:
    """Has an own schema whose keywords have values of the wrong types."""
    return _of({"type": 7, "minimum": "low", "required": "all", "pattern": "("})


def _slow(value: str) -> str:
    import time

    time.sleep(20)
    return value


@in_call(value="x")
def has_a_slow_validator(value: Annotated[str, AfterValidator(_slow)]) -> None:
    """Has a validator of an argument that takes 20 s."""


def _raising(value: str) -> str:
    raise KeyboardInterrupt


@in_call(value="x")
def has_a_raising_validator(value: Annotated[str, AfterValidator(_raising)]) -> None:
    """Has a validator of an argument that raises KeyboardInterrupt."""


@in_call(value="a" * 40 + "b")
def has_a_costly_pattern_in_its_signature(value: Annotated[str, Field(pattern="^(a+)+$")]) -> None:
    """Has a parameter with a pattern that takes for ever on some texts."""


@in_call(value="a" * 100_000)
def has_a_long_union(value: Annotated[str, Field(pattern="|".join(["a?"] * 2_000) + "$")]) -> None:
    """Has a parameter with a pattern of 2,000 alternatives, and hears a text of 100 kB."""


@in_call(value="x")
def compiles_much(value: str) -> None:
    """Compiles 3,000 regular expressions in a call."""
    for number in range(3_000):
        re.compile(f"(a|b){{1,{number % 40 + 1}}}c{number}")
