"""The cheap dataclass is what the standard library's is, in all that it promises."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import asdict, field, replace
from typing import Any

import pytest
from mcp_host.startup.dataclass import dataclass


@dataclass(frozen=True)
class Cheap:
    """A class with every kind of field."""

    name: str
    secret: str = field(default="none", repr=False)
    tags: list[str] = field(default_factory=list, hash=False)
    made: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a name must be there")


@dataclass(frozen=True)
class CheapChild(Cheap):
    """A class with the fields of another."""

    more: int = 1


@dataclasses.dataclass(frozen=True)
class Usual:
    """The same with the standard library."""

    name: str
    secret: str = field(default="none", repr=False)
    tags: list[str] = field(default_factory=list, hash=False)
    made: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a name must be there")


@dataclasses.dataclass(frozen=True)
class UsualChild(Usual):
    """The same with the standard library."""

    more: int = 1


@dataclass(frozen=True, slots=True)
class Slotted:
    """A class whose objects have no dictionary."""

    name: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Named:
    """A class whose objects are equal to themselves alone."""

    name: str
    size: int = 3


PAIRS = [(Cheap, Usual), (CheapChild, UsualChild)]


@pytest.mark.parametrize(("cheap", "usual"), PAIRS)
def test_it_is_made_shown_and_compared_as_the_usual_one(cheap: Any, usual: Any) -> None:
    one, other = cheap("a", "b", ["c"], 4), usual("a", "b", ["c"], 4)

    assert str(inspect.signature(cheap)) == str(inspect.signature(usual))
    assert repr(one) == repr(other).replace("Usual", "Cheap")
    assert asdict(one) == asdict(other)
    assert hash(one) == hash(other)
    assert one == replace(one, made=9) != replace(one, secret="d")
    assert one != other
    assert cheap("a").tags is not cheap("a").tags
    assert cheap.__match_args__ == usual.__match_args__
    assert cheap.__doc__ != usual.__doc__


@pytest.mark.parametrize("kind", [kind for pair in PAIRS for kind in pair])
def test_it_is_frozen_and_checks_itself(kind: Any) -> None:
    made = kind("a")

    with pytest.raises(dataclasses.FrozenInstanceError, match="assign to field 'name'"):
        made.name = "b"
    with pytest.raises(dataclasses.FrozenInstanceError, match="delete field 'name'"):
        del made.name
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.unknown = 1
    for wrong in ({"names": 1}, {"name": "a", "other": 1}, {}):
        with pytest.raises(TypeError):
            kind(**wrong)
    with pytest.raises(ValueError, match="a name must be there"):
        kind("")


def test_objects_without_a_dictionary_are_copied_whole() -> None:
    made = Slotted("a", ("b",))

    assert not hasattr(made, "__dict__")
    assert copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == made
    assert {made: 1}[Slotted("a", ("b",))] == 1


def test_one_that_is_not_compared_is_equal_to_itself_alone() -> None:
    made = Named(name="a")

    assert made == made
    assert made != Named(name="a")
    assert repr(made) == "Named(name='a', size=3)"
    with pytest.raises(TypeError):
        Named("a")  # type: ignore[call-arg]
