"""The smallest arguments that fit a schema: what a pack is called with where any will do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]


def smallest(schema: Schema) -> dict[str, Any]:
    """Arguments with only what is required: its first example, else as small as may be."""
    made: dict[str, Any] = _made(schema, schema)
    return made


def _made(schema: Any, whole: Schema) -> Any:
    if not isinstance(schema, Mapping):
        return "x"
    if "$ref" in schema:
        found: Any = whole
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found.get(part, {})
        return _made(found, whole)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return _made(schema[key][0], whole)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    if "default" in schema:
        return schema["default"]
    if schema.get("examples"):
        return schema["examples"][0]
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        required = schema.get("required", ())
        properties = schema.get("properties", {})
        return {name: _made(properties.get(name), whole) for name in required}
    if kind == "array":
        return [_made(schema.get("items"), whole)] * schema.get("minItems", 0)
    if kind in ("integer", "number"):
        return schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
    if kind == "string":
        return _TEXTS.get(schema.get("format", ""), "x" * max(1, schema.get("minLength", 1)))
    return {"boolean": False, "null": None}.get(kind)


_TEXTS = {
    "date-time": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "time": "00:00:00",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
