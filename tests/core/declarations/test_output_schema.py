"""A returned value is written as JSON in one pass, and says what its plain data says."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given, strategies as st
from mcp_host.declarations.output_schema import OutputSchema
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json
from typing_extensions import TypedDict


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: float
    y: float | None = None


class Size(BaseModel):
    """A model that has its numbers written otherwise than JSON."""

    model_config = ConfigDict(ser_json_inf_nan="constants", ser_json_timedelta="float")

    width: float
    taken: timedelta = timedelta(0)
    note: str = Field(default="", serialization_alias="remark")


class Odd(Size):
    model_config = ConfigDict(ser_json_inf_nan="strings", ser_json_bytes="base64")

    more: bytes = b""


class Row(TypedDict, total=False):
    id: UUID
    at: datetime
    price: Decimal
    colour: Colour


DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
SIZES = st.builds(Size, width=st.floats(), note=st.text() | st.just("NaN"))
VALUES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (dict[str, Any], st.dictionaries(st.text(), DATA)),
    (list[float], st.lists(st.floats())),
    (dict[int, Point], st.dictionaries(st.integers(), st.builds(Point, x=st.floats()))),
    (Mapping[Colour, date], st.dictionaries(st.sampled_from(Colour), st.dates())),
    (list[Size], st.lists(SIZES)),
    (Odd, st.builds(Odd, width=st.floats(), more=st.binary())),
    (Row, st.fixed_dictionaries({}, optional={
        "id": st.uuids(), "at": st.datetimes(timezones=st.just(UTC)),
        "price": st.decimals(allow_nan=False), "colour": st.sampled_from(Colour)})),
    (tuple[int, str] | None, st.none() | st.tuples(st.integers(), st.text())),
    (Literal["NaN", "Infinity"], st.sampled_from(["NaN", "Infinity"])),
    (Annotated[set[str], Field(max_length=3)], st.sets(st.text())),
    (object, DATA),
]  # fmt: skip


@given(st.data())
@pytest.mark.parametrize(("hint", "values"), VALUES, ids=lambda one: str(one)[:40])
def test_the_json_of_a_value_is_that_of_its_plain_data(
    hint: Any, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    output = OutputSchema.of(hint)
    assert output is not None
    value = data.draw(values)

    try:
        plain = to_json(output.plain(value), inf_nan_mode="null")
    except ValueError as wrong:
        with pytest.raises(type(wrong)):
            output.json(value)
    else:
        assert output.json(value) == plain
