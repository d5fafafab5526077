"""Schemas of tools as clients take them: passed on as they are, and repaired where they break."""

from __future__ import annotations

from typing import Any

EMPTY: dict[str, Any] = {"type": "object", "properties": {}}
COMBINED = ("anyOf", "oneOf", "allOf")


def input_schema(schema: Any) -> tuple[dict[str, Any], str]:
    """Return a tool's input schema, and what was repaired in it; empty where nothing was."""
    if not isinstance(schema, dict):
        return dict(EMPTY), "it had no input schema"
    said = []
    if "$ref" in schema:
        schema = _without_reference(schema)
        said.append("a reference at its root was followed")
    if schema.get("type") != "object" and any(key in schema for key in COMBINED):
        schema = _uncombined(schema)
        said.append("alternatives at its root were put together")
    if schema.get("type") != "object":
        schema = {**schema, "type": "object"}
        said.append("its type is object now")
    if not isinstance(schema.get("properties", {}), dict):
        schema = {**schema, "properties": {}}
        said.append("its properties were none")
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        schema = {key: value for key, value in schema.items() if key != "required"}
        said.append("its list of required properties was none")
    if not _is_valid(schema):
        schema = _mended(schema)
        said.append("parts that are no JSON Schema were left out")
    return schema, "; ".join(said)


def output_schema(schema: Any) -> tuple[dict[str, Any] | None, str]:
    """Return a tool's output schema, None where clients would break on it, and why."""
    if schema is None:
        return None, ""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return None, "its output schema was left out: its type must be object"
    if not _is_valid(schema):
        return None, "its output schema was left out: it is no JSON Schema"
    return schema, ""


def _is_valid(schema: dict[str, Any]) -> bool:
    from jsonschema import Draft202012Validator  # not needed where lists were learned before
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError):
        return False
    return True


def _without_reference(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with what its root refers to in place of the reference."""
    whole, followed = schema, set[str]()
    while "$ref" in schema:
        reference = str(schema["$ref"])
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        found: Any = {} if reference in followed else whole
        followed.add(reference)
        for part in reference.removeprefix("#/").split("/"):
            found = found.get(part) if isinstance(found, dict) else None
        schema = {**rest, **found} if isinstance(found, dict) else rest
    return schema


def _uncombined(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with the properties of its alternatives as its own.

    What all of `allOf` require stays required; of alternatives, what each of them requires.
    """
    properties = dict(_table(schema.get("properties")))
    required = _names(schema.get("required"))
    for key in COMBINED:
        given = schema.get(key)
        arms = [arm for arm in given if isinstance(arm, dict)] if isinstance(given, list) else []
        for arm in arms:
            properties |= _table(arm.get("properties"))
        needs = [_names(arm.get("required")) for arm in arms]
        if needs:
            required |= set.union(*needs) if key == "allOf" else set.intersection(*needs)
    rest = {name: value for name, value in schema.items() if name not in COMBINED}
    rest |= {"type": "object", "properties": properties}
    return {**rest, "required": sorted(required)} if required else rest


def _table(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _names(given: Any) -> set[str]:
    return {name for name in given if isinstance(name, str)} if isinstance(given, list) else set()


def _mended(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose wrong properties take everything, and which says nothing else."""
    properties = {
        name: value if isinstance(value, bool | dict) and _is_valid_part(value) else _words(value)
        for name, value in schema.get("properties", {}).items()
    }
    made = {"type": "object", "properties": properties}
    for key in ("required", "additionalProperties", "$defs"):
        if key in schema and _is_valid({**made, key: schema[key]}):
            made[key] = schema[key]
    return made


def _is_valid_part(part: Any) -> bool:
    return isinstance(part, bool) or _is_valid(part)


def _words(part: Any) -> dict[str, Any]:
    words = part.get("description") if isinstance(part, dict) else None
    return {"description": words} if isinstance(words, str) else {}
