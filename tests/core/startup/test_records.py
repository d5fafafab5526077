"""Records are frozen dataclasses in all but the making."""

import copy
import dataclasses
import inspect
import pickle
import sys
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import pytest
from hypothesis import given, strategies as st
from mcp_host.startup.records import Record, fresh
from pydantic import TypeAdapter

T = TypeVar("T")


class Made(Record, Generic[T]):
    first: T
    second: int = 2
    third: Mapping[str, int] = fresh(dict)
    kind: ClassVar[str] = "no field"

    @cached_property
    def length(self) -> int:
        return len(self.third)


@dataclasses.dataclass(frozen=True)
class Meant(Generic[T]):
    first: T
    second: int = 2
    third: Mapping[str, int] = dataclasses.field(default_factory=dict)
    kind: ClassVar[str] = "no field"


class More(Made[str]):
    fourth: str = "4"


GIVEN = st.tuples(
    st.lists(st.integers(0, 2) | st.text(max_size=2), max_size=5),
    st.dictionaries(
        st.sampled_from(["first", "second", "third", "fourth", "kind", "length"]), st.integers(0, 2)
    ),
)


def made(kind: type[Any], given: tuple[list[Any], dict[str, Any]]) -> Any:
    try:
        return kind(*given[0], **given[1])
    except TypeError:
        return None


@given(GIVEN, GIVEN)
def test_a_record_is_made_compared_and_shown_as_a_frozen_dataclass_is(one: Any, other: Any) -> None:
    ours, theirs = made(Made, one), made(Meant, one)

    assert (ours is None) == (theirs is None)
    if ours is None:
        return
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert ours.third is not Made(1).third
    assert (ours == made(Made, other)) == (theirs == made(Meant, other))
    assert repr(ours) == repr(theirs).replace("Meant", "Made")
    with pytest.raises(AttributeError, match="frozen"):
        ours.second = 3
    with pytest.raises(AttributeError, match="frozen"):
        del ours.second


def test_equal_records_are_one_key_and_differ_from_those_of_another_class() -> None:
    assert {Made(1, 2, ()): "found"}[Made(1, 2, ())] == "found"
    assert More("1") != Made("1")
    assert Made(1) != 1


def test_what_is_computed_once_is_no_part_of_a_record() -> None:
    fresh, used = Made(1, third={"x": 1}), Made(1, third={"x": 1})

    assert used.length == 1
    assert used == fresh
    assert repr(used) == repr(fresh)
    assert dataclasses.replace(used, third={}).length == 0


def test_a_record_inherits_fields_and_knows_which_are_missing() -> None:
    assert More("1", fourth="5").__match_args__ == ("first", "second", "third", "fourth")
    with pytest.raises(TypeError, match=r"More\(first, .*: missing or unknown: first"):
        More()
    with pytest.raises(TypeError, match=r"missing or unknown: fifth"):
        More("1", fifth=5)  # type: ignore[call-arg]


def test_a_record_says_how_it_is_made() -> None:
    assert inspect.signature(Made) == inspect.signature(Meant)
    assert list(inspect.signature(More).parameters) == ["first", "second", "third", "fourth"]


def test_libraries_take_a_record_for_a_dataclass() -> None:
    record = More("1", 3)

    assert [field.name for field in dataclasses.fields(More)] == list(More.__match_args__)
    assert TypeAdapter(More).validate_python({"first": "1", "second": 3}) == record
    assert copy.copy(record) == record
    if sys.version_info >= (3, 13):
        assert copy.replace(record, second=4) == More("1", 4)
    assert pickle.loads(pickle.dumps(Made(1, third=()))) == Made(1, third=())
    match record:
        case More(first, second):
            assert (first, second) == ("1", 3)
