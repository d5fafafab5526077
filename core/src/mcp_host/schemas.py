"""The JSON Schema of ordinary annotations, word for word as pydantic writes it.

pydantic first builds what checks values, half a millisecond for each function, and a client that
waits for the lists needs none of that. What is not ordinary is not written here: the answer is
None, and pydantic is asked. So is whatever it might refuse, for such mistakes are told at start.
"""

from __future__ import annotations

import inspect
import math
import sys
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin

from pydantic import Field
from pydantic.fields import FieldInfo
from typing_extensions import NoExtraItems, TypedDict, is_typeddict

from .records import Record

Schema = dict[str, Any]
UNSET: Any = Field().default


class Marker(Record):
    """What may stand in `Annotated` beside what pydantic knows."""

    def _in_schema(self) -> Schema:
        """What it adds to the schema."""
        return {}

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> Schema:
        return {**handler(core), **self._in_schema()}


def of_arguments(arguments: Mapping[str, tuple[Any, Any]]) -> Schema | None:
    """The schema of a closed model with these fields, each an annotation and a default or `UNSET`.

    None where the writer is not sure.
    """
    writer = _Writer(closed=True)
    try:
        fields = [(name, hint, default, True) for name, (hint, default) in arguments.items()]
        return writer.whole({**writer.object(fields), "title": "Arguments"})
    except Exception:  # whatever an annotation raises here, pydantic has the right words for
        return None


def of_output(hint: Any) -> Schema | None:
    """The schema of what is returned under this annotation; None where the writer is not sure."""
    writer = _Writer(closed=False)
    try:
        schema = writer.write(hint)
        if "$ref" in schema:
            schema = writer.definitions.pop(schema["$ref"].rpartition("/")[2])
        return writer.whole(schema)
    except Exception:
        return None


class _NotOrdinary(Exception):
    """Pydantic has to be asked."""


_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    None: {"type": "null"},
    Any: {},
    list: {"type": "array", "items": {}},
    dict: {"type": "object", "additionalProperties": True},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
}
_LENGTH_OF_TEXT = {"min_length": "minLength", "max_length": "maxLength"}
_LENGTH_OF_LIST = {"min_length": "minItems", "max_length": "maxItems"}
_RANGE = {
    "multiple_of": "multipleOf",
    "le": "maximum",
    "ge": "minimum",
    "lt": "exclusiveMaximum",
    "gt": "exclusiveMinimum",
}
_LIMITS: Mapping[Any, Mapping[str, str]] = {
    int: _RANGE,
    float: _RANGE,
    str: _LENGTH_OF_TEXT,
    list: _LENGTH_OF_LIST,
}
_LIMIT_NAMES = {kind: name for name, kind in FieldInfo.metadata_lookup.items() if kind}
_PLAIN_FIELD = Field().asdict()["attributes"]
_WORDS = {"title", "description", "examples", "json_schema_extra", "default"}

_Fields = Iterable[tuple[str, Any, Any, bool]]
"""Name, annotation, default or `UNSET`, and whether a field without a default is required."""


class _Writer:
    """Writes one schema; the classes that it meets stand in `definitions`."""

    def __init__(self, closed: bool) -> None:
        self._closed = closed
        self._classes: dict[str, type] = {}
        self.definitions: dict[str, Schema] = {}

    def whole(self, schema: Schema) -> Schema:
        """The schema with its definitions, in pydantic's order."""
        if self.definitions:
            schema = {**schema, "$defs": self.definitions}
        ordered: Schema = _ordered(schema, "")
        return ordered

    def write(self, hint: Any) -> Schema:
        origin = get_origin(hint)
        if origin is None:
            plain = _PLAIN.get(hint)
            return self._reference(hint) if plain is None else plain
        arms = get_args(hint)
        if origin is Annotated:
            words = _Words(arms[1:])
            schema = self._limited(arms[0], words)
            if words.default is not UNSET or "$ref" in schema:
                raise _NotOrdinary
            return self._worded(schema, words)
        if origin is Union or origin is types.UnionType:
            return self._union(arms)
        if origin is Literal:
            return _literal(arms)
        if origin is list:
            (item,) = arms
            return {"type": "array", "items": self.write(item)}
        if origin is dict:
            return self._table(*arms)
        if origin in (set, frozenset):
            (item,) = arms
            return {"type": "array", "uniqueItems": True, "items": self.write(item)}
        if origin is tuple and arms:
            return self._tuple(arms)
        raise _NotOrdinary

    def object(self, fields: _Fields) -> Schema:
        """The schema of an object with these fields."""
        properties: dict[str, Schema] = {}
        required = []
        for name, hint, given, is_needed in fields:
            properties[name], default = self._field(hint, given)
            if default is UNSET and is_needed:
                required.append(name)
        schema: Schema = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        if self._closed:
            schema["additionalProperties"] = False
        return schema

    def _field(self, hint: Any, default: Any) -> tuple[Schema, Any]:
        """The schema of a property, and its default, which may stand in the annotation."""
        base, words = hint, _Words()
        if get_origin(hint) is Annotated:
            base, *metadata = get_args(hint)
            words = _Words(metadata)
        schema = self._limited(base, words)
        default = words.default if default is UNSET else default
        if default is not UNSET:
            schema = {**schema, "default": _checked(default)}
        schema = self._worded(schema, words)
        if "$ref" in schema:  # what the class says of itself is not repeated
            same = self.definitions[schema["$ref"].rpartition("/")[2]].items()
            schema = dict(item for item in schema.items() if item not in same)
        return schema, default

    def _worded(self, schema: Schema, words: _Words) -> Schema:
        """With the words, which may stand in place of what was written."""
        lost = [key for key in words.added if isinstance(schema.get(key), dict | list)]
        if self.definitions and lost:
            raise _NotOrdinary  # a reference may go, and what it refers to with it
        return {**schema, **words.added}

    def _limited(self, hint: Any, words: _Words) -> Schema:
        """With limits and marks; the limits of what may be None are those of the rest."""
        schema = self.write(hint)
        if words.limits and get_origin(hint) in (Union, types.UnionType):
            (hint,) = (arm for arm in get_args(hint) if arm is not type(None))
            schema = {**self.write(hint), **_limits(hint, words.limits)}
            schema = _any_of([schema, {"type": "null"}])
        elif words.limits:
            schema = {**schema, **_limits(hint, words.limits)}
        return {**schema, **words.marks}

    def _union(self, arms: tuple[Any, ...]) -> Schema:
        kinds = [arm for arm in arms if arm is not type(None)]
        written = _any_of([self.write(kind) for kind in kinds])
        return written if len(kinds) == len(arms) else _any_of([written, {"type": "null"}])

    def _table(self, key: Any, value: Any) -> Schema:
        if key is not str:
            raise _NotOrdinary
        schema = {name: part for name, part in self.write(value).items() if name != "title"}
        return {"type": "object", "additionalProperties": schema or True}

    def _tuple(self, items: tuple[Any, ...]) -> Schema:
        if items[-1] is Ellipsis:
            return {"type": "array", "items": self.write(items[0])}
        parts = [self.write(item) for item in items]
        return {
            "type": "array",
            "prefixItems": parts,
            "minItems": len(parts),
            "maxItems": len(parts),
        }

    def _reference(self, cls: Any) -> Schema:
        """A reference to a class's schema, which is written when the class is first met."""
        name = cls.__qualname__.rpartition(".")[2]
        is_taken = self._classes.setdefault(name, cls) is not cls or name == "Arguments"
        if is_taken or not (name.isascii() and name.isidentifier()):
            raise _NotOrdinary
        if name not in self.definitions:
            self.definitions[name] = {}
            self.definitions[name] = self._typed_dict(cls)
        elif not self.definitions[name]:
            raise _NotOrdinary  # it holds itself
        return {"$ref": f"#/$defs/{name}"}

    def _typed_dict(self, cls: Any) -> Schema:
        _check_plain(cls)
        schema = {**self.object(_items(cls)), "title": cls.__name__}
        return {**schema, "description": inspect.cleandoc(cls.__doc__)} if cls.__doc__ else schema


class _Words:
    """What stands beside a type in `Annotated`: marks, limits, words and a default."""

    def __init__(self, metadata: Iterable[Any] = ()) -> None:
        self.marks: Schema = {}
        self.limits: dict[str, Any] = {}
        self.default = UNSET
        self.added: Schema = {}
        self._has_field = False
        for marker in metadata:
            if isinstance(marker, Marker):
                self.marks |= marker._in_schema()
            elif type(marker) is FieldInfo:
                self._read(marker)
            else:
                self._limit(marker)

    def _read(self, field: FieldInfo) -> None:
        parts = field.asdict()
        given = {k: v for k, v in parts["attributes"].items() if v is not _PLAIN_FIELD[k]}
        if self._has_field or parts["annotation"] is not None or given.keys() - _WORDS:
            raise _NotOrdinary
        self._has_field = True
        self.default = given.pop("default", UNSET)
        extra = given.pop("json_schema_extra", {})
        self.added = _checked({**given, **extra})
        for limit in parts["metadata"]:
            self._limit(limit)

    def _limit(self, marker: Any) -> None:
        name = _LIMIT_NAMES.get(type(marker))
        if name is None or name in self.limits:
            raise _NotOrdinary
        self.limits[name] = getattr(marker, name)


def _limits(hint: Any, limits: Mapping[str, Any]) -> Schema:
    """The limits of a type as its schema has them."""
    kind = get_origin(hint) or hint
    names = _LIMITS.get(kind, {})
    numbers = (int, float) if kind is float else (int,)
    for name, value in limits.items():
        if name not in names or type(value) not in numbers or not abs(value) < 2**31:
            raise _NotOrdinary
        if (name == "multiple_of" and value <= 0) or ("length" in name and value < 0):
            raise _NotOrdinary
    return {key: limits[name] for name, key in names.items() if name in limits}


def _literal(values: tuple[Any, ...]) -> Schema:
    kinds = {type(value) for value in values}
    if not kinds <= {str, int, bool}:
        raise _NotOrdinary
    listed = [_checked(value) for value in values]
    schema: Schema = {"const": listed[0]} if len(listed) == 1 else {"enum": listed}
    return {**schema, **_PLAIN[kinds.pop()]} if len(kinds) == 1 else schema


def _any_of(schemas: list[Schema]) -> Schema:
    """Any of these; what is any of several itself is taken apart, and each is named once."""
    arms: list[Schema] = []
    for schema in schemas:
        arms += schema["anyOf"] if schema.keys() == {"anyOf"} else [schema]
    arms = list({_hashable(arm): arm for arm in arms}.values())
    return arms[0] if len(arms) == 1 else {"anyOf": arms}


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(sorted((key, _hashable(item)) for key, item in value.items()))
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _checked(value: Any) -> Any:
    """The value, which is plain JSON and nothing that a schema means something else by."""
    if type(value) is dict and "$ref" not in value:
        for key, item in value.items():
            key.encode()
            _checked(item)
    elif type(value) is list:
        for item in value:
            _checked(item)
    elif type(value) is str:
        value.encode()  # raises for a lone surrogate, which is no text
    elif type(value) is float:
        if not math.isfinite(value):
            raise _NotOrdinary
    elif value is not None and type(value) not in (int, bool):
        raise _NotOrdinary
    return value


def _ordered(value: Any, within: str) -> Any:
    """A copy with the keys by the alphabet; properties and defaults keep their order."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        keys = value if within in ("properties", "default") else sorted(value)
        return {key: _ordered(value[key], key) for key in keys}
    return [_ordered(item, within) for item in value] if isinstance(value, list) else value


# -- classes ---------------------------------------------------------------------------------------


def _items(cls: Any) -> Iterator[tuple[str, Any, Any, bool]]:
    """The fields of a `TypedDict`."""
    for name, hint in typing.get_type_hints(cls, include_extras=True).items():
        is_needed = name in cls.__required_keys__
        if get_origin(hint) in (Required, NotRequired):
            is_needed = get_origin(hint) is Required
            (hint,) = get_args(hint)
        yield name, hint, UNSET, is_needed


def _check_plain(cls: Any) -> None:
    """Refuse what is no `TypedDict`, or says more than its annotations, or inherits more."""
    if not is_typeddict(cls) or (sys.version_info < (3, 12) and typing.is_typeddict(cls)):
        raise _NotOrdinary  # pydantic refuses typing's own before Python 3.12
    has_extra = getattr(cls, "__extra_items__", NoExtraItems) is not NoExtraItems
    if has_extra or getattr(cls, "__closed__", None):
        raise _NotOrdinary
    if any(name.startswith("__pydantic") or name == "__deprecated__" for name in vars(cls)):
        raise _NotOrdinary
    for base in cls.__orig_bases__:
        if base not in (TypedDict, typing.TypedDict):
            _check_plain(base)
