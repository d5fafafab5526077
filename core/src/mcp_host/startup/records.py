"""Frozen records that cost nothing to define.

`@dataclass(frozen=True)` compiles half a dozen methods for every class: half a millisecond each,
which a client waits for at every start. The methods here are written once, for all records.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the name that type checkers know; importing typing takes 3 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, ClassVar, Self, dataclass_transform
else:

    def dataclass_transform(**_):
        return lambda cls: cls


def _twin(cls: type[Record]) -> Any:
    """The frozen dataclass that a record stands for."""
    import dataclasses

    body: dict[str, Any] = {"__annotations__": dict(cls.__fields__), **cls.__defaults__}
    for name, factory in cls.__factories__.items():
        body[name] = dataclasses.field(default_factory=factory)
    return dataclasses.dataclass(frozen=True)(type(cls.__name__, (), body))


class _Fields:
    """A record's fields as `dataclasses` and pydantic know them; made when they are asked for."""

    def __get__(self, record: object, cls: type[Record]) -> Mapping[str, Any]:
        fields: Mapping[str, Any] = _twin(cls).__dataclass_fields__
        return fields


class _Signature:
    """How a record is made, for `help` and editors."""

    def __get__(self, record: object, cls: type[Record]) -> Any:
        import inspect

        return inspect.signature(_twin(cls))


class _Fresh:
    def __init__(self, factory: Callable[[], Any]) -> None:
        self.factory = factory


def fresh(factory: Callable[[], Any]) -> Any:
    """A default that is made anew for each record, as `field(default_factory=…)`."""
    return _Fresh(factory)


@dataclass_transform(frozen_default=True)
class Record:
    """A frozen dataclass in all but the making: the annotated names are its fields, in order.

    Two of one class with equal fields are equal. Raises `TypeError` for a field that is missing,
    given twice or unknown, and `AttributeError` on assignment.
    """

    __fields__: ClassVar[Mapping[str, Any]] = {}
    __defaults__: ClassVar[Mapping[str, Any]] = {}
    __factories__: ClassVar[Mapping[str, Callable[[], Any]]] = {}
    __match_args__: ClassVar[tuple[str, ...]] = ()
    __dataclass_fields__ = _Fields()
    __signature__ = _Signature()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = {
            name: kind
            for name, kind in cls.__annotations__.items()
            if not str(kind).startswith(("ClassVar", "typing.ClassVar"))
        }
        cls.__fields__ = {**cls.__fields__, **own}
        given = {name: cls.__dict__[name] for name in own if name in cls.__dict__}
        made = {
            name: given.pop(name).factory for name in own if isinstance(given.get(name), _Fresh)
        }
        for name in made:
            delattr(cls, name)
        cls.__defaults__ = {**cls.__defaults__, **given}
        cls.__factories__ = {**cls.__factories__, **made}
        cls.__match_args__ = tuple(cls.__fields__)  # type: ignore[misc]  # so typeshed has it

    def __init__(self, *given: Any, **named: Any) -> None:
        values = self.__dict__
        values.update(self.__defaults__)
        for name, factory in self.__factories__.items():
            values[name] = factory()
        if given:
            names = self.__match_args__[: len(given)]
            twice = [name for name in names if name in named]
            if len(given) > len(self.__match_args__) or twice:
                raise TypeError(f"{self._how_made()}: {twice or len(given)} is too much")
            values.update(zip(names, given, strict=True))
        values.update(named)
        if len(values) != len(self.__fields__) or not self.__fields__.keys() >= named.keys():
            odd = sorted(values.keys() ^ self.__fields__.keys())
            raise TypeError(f"{self._how_made()}: missing or unknown: {', '.join(odd)}")
        self.__post_init__()

    def __post_init__(self) -> None:
        """For a record that checks itself."""

    @classmethod
    def _how_made(cls) -> str:
        return f"{cls.__name__}({', '.join(cls.__fields__)})"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name!r} cannot be assigned to")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name!r} cannot be deleted")

    def __replace__(self, **changes: Any) -> Self:
        return type(self)(**{**dict(self._items()), **changes})

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return dict(self._items()) == dict(other._items())

    def __hash__(self) -> int:
        return hash(tuple(self._items()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self._items())
        return f"{type(self).__name__}({shown})"

    def _items(self) -> Iterator[tuple[str, Any]]:
        """The fields and their values; what a `cached_property` keeps beside them is none."""
        return ((name, self.__dict__[name]) for name in self.__fields__)
