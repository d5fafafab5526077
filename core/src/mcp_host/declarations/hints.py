"""The types that a function's annotations name."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Union, get_args, get_origin

from typing_extensions import TypeAliasType

from .errors import DeclarationError

if sys.version_info >= (3, 14):
    import annotationlib

# The one of typing, since Python 3.12, and that of typing_extensions may be two classes.
_ALIASES = (TypeAliasType, getattr(typing, "TypeAliasType", TypeAliasType))


def read_hints(function: Callable[..., Any], names: Iterable[str]) -> dict[str, Any]:
    """The types of these parameters and, as `return`, of what the function returns.

    Other annotations are never evaluated: they may name what is dear to import. Raises
    `DeclarationError` for a name that nothing has.
    """
    if sys.version_info >= (3, 14):
        raw = annotationlib.get_annotations(function, format=annotationlib.Format.FORWARDREF)
    else:
        raw = function.__annotations__
    wanted = {name: raw[name] for name in [*names, "return"] if name in raw}
    holder = types.SimpleNamespace(__annotations__=wanted)
    own_types = {kind.__name__: kind for kind in getattr(function, "__type_params__", ())}
    try:
        hints = typing.get_type_hints(
            holder, inspect.unwrap(function).__globals__, own_types, include_extras=True
        )
    except NameError as error:
        raise DeclarationError(
            f"{error}; names in annotations after '/' are needed at run time"
        ) from error
    return {name: _without_alias(hint) for name, hint in hints.items()}


def allows_none(hint: Any) -> bool:
    """Whether None is a value of this type."""
    if get_origin(hint) is Annotated:
        return allows_none(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        return any(allows_none(arm) for arm in get_args(hint))
    return hint is None or hint is type(None) or hint is Any


def _without_alias(hint: Any) -> Any:
    """What an annotation stands for that a `type` statement gave a name to."""
    if isinstance(hint, _ALIASES):
        return _without_alias(hint.__value__)
    if get_origin(hint) is Annotated and isinstance(hint.__origin__, _ALIASES):
        return Annotated[_without_alias(hint.__origin__), *hint.__metadata__]
    return hint
