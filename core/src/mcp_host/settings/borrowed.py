"""What is known here of pydantic beyond the interface that it promises to keep.

`tests/core/settings/test_borrowed.py` has a test for each name, so that a new version of pydantic
that changes one fails there first. Only what costs nothing is imported at the top: this comes
before pydantic itself.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType, new_class
from typing import Any

from ..startup.installed import entry_points, finder

LOADER = "pydantic.plugin._loader"
"""The module in which pydantic looks for plugins when it makes the first check."""
GROUP = "pydantic"
"""The entry points by which distributions offer pydantic plugins."""


def spare_plugin_search() -> None:
    """Tell pydantic that it has no plugins, where no installed distribution offers one.

    To find that out by itself takes it 17 ms, a twelfth of the time to a first list without a saved
    catalogue: it imports `importlib.metadata` and reads what all distributions say of themselves.
    Where there is a plugin, pydantic finds and loads it as always.
    """
    if LOADER in sys.modules:
        return
    try:
        if any(entry_points(each, GROUP) for each in finder().distributions()):
            return
    except (OSError, ValueError):  # a damaged distribution is pydantic's to pass over
        return
    loader = ModuleType(LOADER, "Says that there are no plugins.")
    loader.get_plugins = tuple  # type: ignore[attr-defined]
    sys.modules[LOADER] = loader


COMPILER = "_create_fn"
"""What compiles a method of a dataclass, up to Python 3.12; later versions compile all at once."""
SHAPES = "pydantic_core.core_schema"
"""The module in which pydantic describes to type checkers what its core takes."""

UNUSED = ("secrets", "platform")
"""Modules that pydantic, or what it imports, names and hardly ever looks into: `secrets` has all of
OpenSSL loaded, and `uuid` asks `platform` for the name of the system."""


def import_pydantic() -> None:
    """Import pydantic without what nobody asks for when a server starts, a tenth of that time.

    Its module of shapes defines ninety typed dictionaries, which only type checkers look at: here
    they are plain ones, which keep their annotations. The methods of its dataclasses are compiled
    at their first call, but for `__init__`. Modules that it does not look into are imported when it
    does. Where it was imported already, nothing is done.
    """
    if "pydantic_core" in sys.modules:
        return
    with _methods_compiled_late(), _imported_late(*UNUSED):
        with _shapes_as_plain_dictionaries():
            import pydantic_core  # noqa: F401 - which defines the shapes
        from . import tables  # noqa: F401 - which has pydantic import all that models need


@contextmanager
def _methods_compiled_late() -> Iterator[None]:
    compile_now = getattr(dataclasses, COMPILER, None)
    if compile_now is None:
        yield
        return

    def compile_late(name: str, *what: Any, **more: Any) -> Callable[..., Any]:
        if name == "__init__":  # its signature is asked for
            return compile_now(name, *what, **more)  # type: ignore[no-any-return]
        made: list[Callable[..., Any]] = []

        def method(*given: Any) -> Any:
            if not made:
                made.append(compile_now(name, *what, **more))
            return made[0](*given)

        method.__name__ = name
        return method

    setattr(dataclasses, COMPILER, compile_late)
    try:
        yield
    finally:
        setattr(dataclasses, COMPILER, compile_now)


@contextmanager
def _imported_late(*names: str) -> Iterator[None]:
    """Give whoever imports these modules meanwhile a stand-in, which imports at its first use.

    Nobody finds it afterwards: an import gives the module itself again.
    """
    late = {name: _LateModule(name) for name in names if name not in sys.modules}
    sys.modules.update(late)
    try:
        yield
    finally:
        for name, module in late.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


class _LateModule(ModuleType):
    """Stands for a module that is imported when something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name == "system" and self.__name__ == "platform":
            return lambda: os.uname().sysname if hasattr(os, "uname") else ""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


@contextmanager
def _shapes_as_plain_dictionaries() -> Iterator[None]:
    import typing_extensions

    usual = {home: home.TypedDict for home in (typing, typing_extensions)}
    for home, kind in usual.items():
        shape = type.__new__(_ShapeType, "_Shape", (dict,), {"usual": kind})
        setattr(home, "TypedDict", shape)  # noqa: B010 - a type checker knows that it is another
    try:
        yield
    finally:
        for home, kind in usual.items():
            setattr(home, "TypedDict", kind)  # noqa: B010 - as above


class _ShapeType(type):
    """Makes the classes of shapes; what else is defined meanwhile is a typed dictionary."""

    def __new__(cls, name: str, bases: tuple[Any, ...], body: dict[str, Any], **more: Any) -> Any:
        if body["__module__"] == SHAPES:
            return type.__new__(cls, name, bases, body)
        return new_class(name, (bases[0].usual,), more, lambda made: made.update(body))

    def __init__(cls, name: str, bases: tuple[Any, ...], body: Any, **more: Any) -> None:
        super().__init__(name, bases, body)

    def __call__(cls, *given: Any, **named: Any) -> dict[str, Any]:
        return dict(*given, **named)  # as a typed dictionary does
