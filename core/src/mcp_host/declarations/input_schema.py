"""The schema of a function's arguments, in few words: models are charged for each."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from .borrowed import SchemaWriter
from .json_schema import Schema, changed_throughout


def input_schema(adapter: TypeAdapter[dict[str, Any]]) -> Schema:
    """The schema that a client reads: closed, without titles, null arms or null defaults."""
    schema = adapter.json_schema(schema_generator=SchemaWriter)
    for named in (schema, *schema.get("$defs", {}).values()):
        named.pop("title", None)
    schema.setdefault("properties", {})
    shorter: Schema = changed_throughout(schema, _shorter)
    return shorter


def _shorter(schema: Schema) -> Schema:
    """One schema without null, for absent says the same; an object is closed."""
    schema = {key: value for key, value in schema.items() if (key, value) != ("default", None)}
    if "anyOf" in schema:
        arms = [arm for arm in schema["anyOf"] if arm != {"type": "null"}]
        if len(arms) == 1:
            del schema["anyOf"]
            schema = {**arms[0], **schema}
        else:
            schema["anyOf"] = arms
    if "properties" in schema and schema.get("type") == "object":
        schema["additionalProperties"] = False
    return schema
