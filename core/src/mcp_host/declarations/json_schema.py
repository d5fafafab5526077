"""JSON Schema as plain data: changed throughout, and followed through references and unions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

_SCHEMAS_BY_NAME = ("properties", "patternProperties", "$defs")
_DATA = ("enum", "const", "default", "examples")


def changed_throughout(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """The schema with a change made to it and to every schema inside.

    What stands in `properties` are names: a parameter may well be called `anyOf` or `default`.
    """
    if isinstance(schema, list):
        return [changed_throughout(item, change) for item in schema]
    if not isinstance(schema, dict):
        return schema
    changed: Schema = {}
    for key, value in schema.items():
        if key in _SCHEMAS_BY_NAME:
            changed[key] = {name: changed_throughout(sub, change) for name, sub in value.items()}
        else:
            is_plain = key in _DATA or isinstance(value, str)
            changed[key] = value if is_plain else changed_throughout(value, change)
    return change(changed)


def alternatives(schema: Schema, whole: Schema) -> list[Schema]:
    """What a schema inside of `whole` may be, its references and unions followed."""
    if "$ref" in schema:
        target: Schema = whole
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target.get(part, {})
        return alternatives(target, whole)
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return [found for arm in schema[union] for found in alternatives(arm, whole)]
    return [schema]


def json_types(schema: Schema, whole: Schema) -> set[str]:
    """The JSON types that a schema inside of `whole` allows; "any" where it does not say."""
    found: set[str] = set()
    for alternative in alternatives(schema, whole):
        kind = alternative.get("type", "any")
        found |= set(kind) if isinstance(kind, list) else {kind}
    return found
