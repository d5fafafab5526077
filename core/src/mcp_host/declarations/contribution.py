"""What tools, resources and prompts have in common."""

from __future__ import annotations

import dataclasses
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Self, TypeAlias, TypedDict

from ..startup.dataclass import dataclass
from .content import Wire, compact
from .errors import DeclarationError
from .signature import Signature, read_signature

Function: TypeAlias = Callable[..., Any]
Resolve: TypeAlias = Callable[[str], str]
"""Puts public names for the names of sibling tools into a text."""


@dataclass(frozen=True)
class Icon:
    """A picture for people's lists: `src` is an https: or data: URI."""

    src: str
    mime: str | None = None
    sizes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _make_exact(self)

    def wire(self) -> Wire:
        return present(src=self.src, mimeType=self.mime, sizes=list(self.sizes))


@dataclass(frozen=True)
class Contribution(ABC):
    """A name, words about it, and the function that does it."""

    function: Function
    name: str
    description: str = ""
    title: str | None = None
    icons: Sequence[Icon] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _make_exact(self)

    def replace(self, **changes: Any) -> Self:
        """A copy with some attributes changed."""
        return dataclasses.replace(self, **changes)

    @cached_property
    def signature(self) -> Signature:
        return read_signature(self.function)

    @property
    def offered_name(self) -> str:
        """What a pack withdraws it by, and what nothing else of its kind may have."""
        return self.name

    @abstractmethod
    def listed(self, name: str, resolve: Resolve) -> Wire:
        """The contribution as its list shows it under this name."""

    @abstractmethod
    def answer(self, value: Any, name: str = "") -> Wire:
        """What the function returned, as the result of the request; `name` is what it asked for."""

    def written(self, value: Any) -> bytes | None:
        """The JSON of `answer` for a value of which it can be written at once; None for any other.

        That is an object without `_meta`, which the protocol takes as it is.
        """
        return None

    def verify(self, has_service: bool) -> None:
        """Read all that a list needs; `DeclarationError` where something cannot work."""
        if not isinstance(self.name, str):
            raise DeclarationError(f"name must be a string, not {self.name!r}")
        needs_service = self.signature.service or self.signature.asks_service
        if needs_service and not has_service:
            raise DeclarationError(
                f"{self.name}: a parameter stands before '/', so the pack must have a "
                "mcp_host_open hook that makes a service"
            )
        _ = self.signature.arguments.schema
        listed = self.listed(self.name, lambda text: text)
        try:
            compact(listed).encode()
        except (TypeError, ValueError) as error:  # one such entry would spoil all packs' lists
            raise DeclarationError(
                f"{self.name}: what stands in the list must be JSON: {error}"
            ) from error

    def _words(self, resolve: Resolve) -> Wire:
        return present(
            title=resolve(self.title) if self.title else None,
            description=resolve(self.description) if self.description else None,
            icons=[icon.wire() for icon in self.icons],
            _meta=dict(self.meta),
        )


def _make_exact(made: Any) -> None:
    """Put plain data in the place of fields whose classes may have code of the pack.

    The host reads them in its own thread.
    """
    for each in dataclasses.fields(made):
        value = getattr(made, each.name)
        try:
            exact = _exact(value)
        except RecursionError:  # it holds itself, which `verify` refuses
            continue
        if exact is not value:
            object.__setattr__(made, each.name, exact)


def _exact(value: Any) -> Any:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, dict):
        return {_exact(key): _exact(item) for key, item in dict.items(value)}
    if isinstance(value, list):
        return [_exact(item) for item in list.__iter__(value)]
    if isinstance(value, tuple):
        return tuple(_exact(item) for item in tuple.__iter__(value))
    return value


class Words(TypedDict):
    """The fields that every contribution has."""

    function: Function
    name: str
    description: str
    title: str | None
    icons: Sequence[Icon]
    meta: Mapping[str, Any]


def words_of(
    function: Function,
    name: str | None,
    title: str | None,
    description: str | None,
    icons: Sequence[Icon],
    meta: Mapping[str, Any] | None,
) -> Words:
    """The fields that every contribution has, those not given read from the function."""
    if not hasattr(function, "__name__"):  # as of a partial, or an object that can be called
        raise DeclarationError(f"write a `def`: a name and words are read of it, not of {function}")
    return {
        "function": function,
        "name": function.__name__ if name is None else name,
        "description": (inspect.getdoc(function) or "") if description is None else description,
        "title": title,
        "icons": icons,
        "meta": meta or {},
    }


def present(**items: Any) -> Wire:
    """The items that say something."""
    return {key: value for key, value in items.items() if value not in (None, {}, [], ())}
