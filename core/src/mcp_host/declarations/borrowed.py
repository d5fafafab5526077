"""What is known of pydantic beyond the interface that it promises to keep.

`tests/core/declarations/test_borrowed.py` has a test for each name, so that a new version of
pydantic that changes one fails there first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode

_PLAIN = (bool, int, str, type(None))


class SchemaWriter(GenerateJsonSchema):
    """Writes JSON Schema without generated titles: "City" for `city` tells a model nothing."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def encode_default(self, dft: Any) -> Any:
        # pydantic builds a serializer for every default: a fifth of the time of reading a tool.
        return dft if type(dft) in _PLAIN else super().encode_default(dft)

    @property
    def mode(self) -> JsonSchemaMode:
        # pydantic asks for it at each step.
        return self._config_wrapper_stack.tail.json_schema_mode_override or self._mode

    # What follows goes through the whole schema, four times, for references between definitions.
    # Most tools have none.

    def get_json_ref_counts(self, json_schema: Any) -> Any:
        return super().get_json_ref_counts(json_schema) if self.definitions else Counter()

    def _garbage_collect_definitions(self, schema: Any) -> None:
        if self.definitions:
            super()._garbage_collect_definitions(schema)

    def _build_definitions_remapping(self) -> Any:
        return super()._build_definitions_remapping() if self.definitions else _AsItIs()

    def build_schema_type_to_method(self) -> dict[Any, Callable[[Any], dict[str, Any]]]:
        # pydantic looks these up anew for every schema: a tenth of the time of reading a tool.
        return {kind: getattr(self, name) for kind, name in _method_names().items()}


class _AsItIs:
    """Stands for pydantic's remapping of references where there are none."""

    def remap_json_schema(self, schema: Any) -> Any:
        return schema


@cache
def _method_names() -> Mapping[Any, str]:
    """Which method of pydantic's writer writes which kind of schema."""
    methods = GenerateJsonSchema().build_schema_type_to_method()
    return {kind: method.__name__ for kind, method in methods.items()}


def calls_code(schema: Any) -> bool:
    """Whether a check by this core schema calls functions that are not pydantic's own."""
    if isinstance(schema, list | tuple):
        return any(calls_code(part) for part in schema)
    if not isinstance(schema, dict):
        return False
    called = schema.get("function")
    function = called.get("function") if isinstance(called, dict) else called
    if function is not None:
        owner = (getattr(function, "__module__", None) or "").partition(".")[0]
        if owner not in ("pydantic", "pydantic_core"):
            return True
    hooks = ("default_factory", "custom_init", "post_init")
    return any(schema.get(hook) for hook in hooks) or any(map(calls_code, schema.values()))
