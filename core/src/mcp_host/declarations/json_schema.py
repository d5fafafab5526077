"""JSON Schema as plain data: changed throughout, and followed through references and unions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias
from urllib.parse import unquote

Schema: TypeAlias = dict[str, Any]

SCHEMAS_BY_NAME = ("properties", "patternProperties", "dependentSchemas", "$defs")
DATA = ("enum", "const", "default", "examples")


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
        if key in SCHEMAS_BY_NAME:
            changed[key] = {name: changed_throughout(sub, change) for name, sub in value.items()}
        else:
            is_plain = key in DATA or isinstance(value, str)
            changed[key] = value if is_plain else changed_throughout(value, change)
    return change(changed)


def alternatives(schema: Schema, whole: Schema) -> list[Schema]:
    """What a schema inside of `whole` may be, its references and unions followed, each once."""
    found: list[Schema] = []
    seen: set[int] = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop(0)
        if id(part) in seen:
            continue
        seen.add(id(part))
        if "$ref" in part:
            further = [pointed(whole, part["$ref"])]
        else:
            further = [arm for union in ("anyOf", "oneOf") for arm in part.get(union, ())]
            if not further:
                found.append(part)
        waiting = [arm for arm in further if isinstance(arm, dict)] + waiting
    return found


def pointed(whole: Schema, reference: str) -> Any:
    """What a reference of the form `#/a/0` leads to in a schema; None where that is nothing."""
    place: Any = whole
    for part in reference.removeprefix("#").split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(place, dict) and key in place:
            place = place[key]
        elif isinstance(place, list) and key.isdecimal() and int(key) < len(place):
            place = place[int(key)]
        else:
            return None
    return place


def json_types(schema: Schema, whole: Schema) -> set[str]:
    """The JSON types that a schema inside of `whole` allows; "any" where it does not say."""
    found: set[str] = set()
    for alternative in alternatives(schema, whole):
        kind = alternative.get("type", "any")
        found |= set(kind) if isinstance(kind, list) else {kind}
    return found
