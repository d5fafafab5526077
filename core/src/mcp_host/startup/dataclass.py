"""Frozen dataclasses whose definition is cheap.

The standard library compiles six methods for every frozen class, 0.4 ms each time: with the
hundred classes of a start 36 ms of processor time, 27 of them before a first list without a saved
catalogue. Here `__init__` alone is compiled, and the others are written once for all. For type
checkers, and for `fields`, `replace` and `asdict`, it is the standard library's decorator; a class
that is derived has this one, too.
"""

from __future__ import annotations

import dataclasses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass
    from typing import Any
else:

    def dataclass(*, frozen, eq=True, slots=False, kw_only=False):
        """Make a class a frozen dataclass, as `dataclasses.dataclass` does with these options."""
        assert frozen, "for others there is the standard library's"

        def decorate(cls):
            methods = {**_FROZEN, **(_EQUAL if eq else {}), **(_SLOTTED if slots else {})}
            for name, method in methods.items():
                if name not in cls.__dict__:
                    setattr(cls, name, method)
            made = dataclasses.dataclass(
                init=False, repr=False, eq=False, slots=slots, kw_only=kw_only
            )(cls)
            if "__init__" not in cls.__dict__:
                made.__init__ = _init(made)
            return made

        return decorate


class _Factory:
    """The default of an argument that is made anew for each object."""

    def __repr__(self) -> str:
        return "<factory>"


_MADE = _Factory()


def _init(cls: Any) -> Callable[..., None]:
    """Compile the method that takes and sets the fields."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_MADE": _MADE}
    positional: list[str] = ["self"]
    named: list[str] = []
    body: list[str] = []
    for field in dataclasses.fields(cls):
        name = field.name
        taken, value = name, name
        if field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            taken = f"{name}=_default_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = field.default_factory
            taken = f"{name}=_MADE"
            value = f"_make_{name}() if {name} is _MADE else {name}"
        (named if field.kw_only else positional).append(taken)
        body.append(f" _set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    taken = ", ".join([*positional, *(["*", *named] if named else [])])
    exec("\n".join([f"def __init__({taken}):", *(body or [" pass"])]), known)  # noqa: S102
    init: Callable[..., None] = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {f.name: f.type for f in dataclasses.fields(cls)} | {"return": None}
    return init


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    names = [field.name for field in dataclasses.fields(self) if field.compare]
    return all(getattr(self, name) == getattr(other, name) for name in names)


def _hash(self: Any) -> int:
    fields = dataclasses.fields(self)
    counts = [field for field in fields if (field.compare if field.hash is None else field.hash)]
    return hash(tuple([getattr(self, field.name) for field in counts]))


def _repr(self: Any) -> str:
    fields = [field for field in dataclasses.fields(self) if field.repr]
    shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields)
    return f"{self.__class__.__qualname__}({shown})"


def _setattr(self: Any, name: str, value: object) -> None:
    _check_frozen(self, name, "assign to")
    object.__setattr__(self, name, value)


def _delattr(self: Any, name: str) -> None:
    _check_frozen(self, name, "delete")
    object.__delattr__(self, name)


def _check_frozen(record: Any, name: str, what: str) -> None:
    """A class that is derived without the decorator may have attributes of its own."""
    is_own = "__dataclass_fields__" in type(record).__dict__
    if is_own or name in record.__dataclass_fields__:
        raise dataclasses.FrozenInstanceError(f"cannot {what} field {name!r}")


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


_FROZEN = {"__repr__": _repr, "__setattr__": _setattr, "__delattr__": _delattr}
_EQUAL = {"__eq__": _eq, "__hash__": _hash}
_SLOTTED = {"__getstate__": _getstate, "__setstate__": _setstate}
"""For copies of a frozen object without a dictionary."""
