"""What a caller may give to a function: the schema that is published, and the check that it tells.

A string where only an array or an object fits is read as JSON once, as a widely used client sends
them; null for an optional parameter that does not allow it counts as absent. There is no other
coercion.
"""

from __future__ import annotations

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any

from pydantic import ConfigDict, GetCoreSchemaHandler, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import core_schema, to_json

from ..errors import InvalidInput
from .argument_errors import explain, explain_by_schema
from .borrowed import calls_code
from .content import compact
from .errors import DeclarationError
from .hints import allows_none
from .input_schema import input_schema
from .json_schema import Schema, json_types
from .own_schema import checked_schema


class Arguments(ABC):
    """What a caller may give to one function."""

    runs_code = False
    """Whether a check calls functions of the pack, which may do anything."""

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The input schema; `DeclarationError` where a parameter has no JSON form."""

    @cached_property
    def names(self) -> list[str]:
        """The names of the arguments."""
        return list(self.schema.get("properties", {}))

    @abstractmethod
    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the function takes them; `InvalidInput` says what is wrong."""

    @abstractmethod
    def check_texts(self, given: Mapping[str, str]) -> dict[str, Any]:
        """As `check`, for values that arrive as text (of a URI, or a prompt's arguments)."""

    @cached_property
    def _nullable(self) -> frozenset[str]:
        """The parameters that take null as a value."""
        return frozenset()

    @cached_property
    def _optional(self) -> frozenset[str]:
        return frozenset(self.names) - frozenset(self.schema.get("required", ()))

    @cached_property
    def _structured(self) -> frozenset[str]:
        """The parameters where only an array or an object fits."""
        return frozenset(
            name
            for name, schema in self.schema.get("properties", {}).items()
            if isinstance(schema, dict) and json_types(schema, self.schema) <= {"array", "object"}
        )

    def _meant(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments without nulls that mean nothing, texts of arrays and objects read."""
        if not self._structured and None not in given.values():
            return dict(given)
        meant = {
            name: value
            for name, value in given.items()
            if value is not None or name not in self._optional or name in self._nullable
        }
        for name in self._structured.intersection(meant):
            meant[name] = _read_once(meant[name])
        return meant


class DeclaredArguments(Arguments):
    """Arguments by the annotations and defaults of a function's parameters.

    `owner` is the function's name in messages. What checks is made when it is first needed; two
    calls at once may each make their own: they are alike.
    """

    def __init__(self, owner: str, parameters: Mapping[str, inspect.Parameter]) -> None:
        self._owner = owner
        self.parameters = parameters

    @cached_property
    def names(self) -> list[str]:
        return list(self.parameters)

    @cached_property
    def schema(self) -> Schema:
        if not self.parameters:  # most resources: a client waits for every schema that is made
            return {"additionalProperties": False, "properties": {}, "type": "object"}
        try:
            return input_schema(self._adapter)
        except Exception as error:  # whatever an annotation of the pack makes pydantic raise
            raise DeclarationError(
                f"{self._owner}: every parameter must have a JSON form: {error}"
            ) from error

    @cached_property
    def runs_code(self) -> bool:  # type: ignore[override]  # where it must be looked for
        return calls_code(self._adapter.core_schema)

    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        given = self._meant(given)
        try:
            return self._checked(given)
        except ValidationError as error:
            raise explain(error, self.schema) from None
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"Invalid arguments: not valid JSON ({error})") from None

    def check_texts(self, given: Mapping[str, str]) -> dict[str, Any]:
        try:
            return self._adapter.validate_python(dict(given))
        except ValidationError as error:
            raise explain(error, self.schema) from None

    @cached_property
    def _adapter(self) -> TypeAdapter[dict[str, Any]]:
        """What checks."""
        config = ConfigDict(extra="forbid", arbitrary_types_allowed=False)
        return TypeAdapter(Annotated[dict[str, Any], self], config=config)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """A dict with a key for each parameter; no model, which takes pydantic thrice as long."""
        fields: dict[str, core_schema.TypedDictField] = {}
        for name, parameter in self.parameters.items():
            hint: Any = parameter.annotation
            default = parameter.default
            if isinstance(default, FieldInfo):  # `x: int = Field(1, description="…")`
                hint, default = Annotated[hint, default], ...
            schema = handler.generate_schema(hint)
            if default is not parameter.empty and default is not ...:
                schema = core_schema.with_default_schema(schema, default=default)
            is_required = schema["type"] != "default"  # which an annotation may give, too
            fields[name] = core_schema.typed_dict_field(schema, required=is_required)
        return core_schema.typed_dict_schema(fields, extra_behavior="forbid")

    @cached_property
    def _nullable(self) -> frozenset[str]:
        return frozenset(n for n, p in self.parameters.items() if allows_none(p.annotation))

    def _checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        text = _written(given)
        try:
            return self._checked_json(text)
        except ValidationError:
            # To JSON Schema, 1.0 is an integer; seldom sent, so looked for only now.
            whole = _written(_whole_numbers(given))
            if whole == text:
                raise
            return self._checked_json(whole)

    def _checked_json(self, text: bytes | str) -> dict[str, Any]:
        # JSON mode: strict, and yet dates, enums and UUIDs are taken from their strings.
        # Under the published names alone, whatever else a model would take.
        checked: dict[str, Any] = self._adapter.validator.validate_json(
            text, strict=True, extra="forbid", by_alias=True, by_name=False
        )
        return checked


def _written(given: Mapping[str, Any]) -> bytes | str:
    try:
        return to_json(given, inf_nan_mode="constants")
    except ValueError:  # as of a lone surrogate, for which the check has words
        return compact(given)


class SchemaArguments(Arguments):
    """Arguments by a schema of the pack's own; the parameter `takes_all` gets them as a whole.

    `DeclarationError` says what is wrong with the schema.
    """

    def __init__(self, schema: Schema, takes_all: str | None) -> None:
        self._schema = checked_schema(schema)
        self._takes_all = takes_all

    @property
    def schema(self) -> Schema:
        return self._schema

    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        meant = self._meant(given)
        problem = explain_by_schema(self.schema, meant)
        if problem is not None:
            raise problem
        return {self._takes_all: meant} if self._takes_all else {}

    def check_texts(self, given: Mapping[str, str]) -> dict[str, Any]:
        return self.check(given)


def _read_once(value: Any) -> Any:
    """The array or object that a string holds as JSON; else the value itself."""
    if not isinstance(value, str):
        return value
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return parsed if isinstance(parsed, list | dict) else value


def _whole_numbers(value: Any) -> Any:
    """The data with 1 for every 1.0."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    return value
