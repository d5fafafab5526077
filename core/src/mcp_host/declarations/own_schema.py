"""A schema that a pack brings for its tool's arguments: what it must be, and checks within limits.

The library does what JSON Schema says, but for what could take for ever or reach out: patterns are
matched by an engine whose time is linear, `uniqueItems` does not compare each with each, references
lead nowhere outside the schema, and a check ends after so many steps.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any

from pydantic_core import SchemaError, SchemaValidator, core_schema

from .errors import DeclarationError
from .json_schema import DATA, SCHEMAS_BY_NAME, Schema, pointed

LARGEST = 256 * 1024
"""Bytes of a schema as JSON."""
DEEPEST = 64
"""Schemas in one another."""
STEPS = 250_000
"""Rules that one check may look at, of all schemas and values; a second's worth or two."""
REFERENCE = 20
"""Steps that following a reference counts for: it takes so much longer."""
SHOWN = 200
"""Characters of a part of a schema in a message."""


class TooManyStepsError(Exception):
    """A check was given up."""


class _Steps(threading.local):
    """What is left to the check that runs in this thread."""

    left = 0

    def take(self, count: int = 1) -> None:
        self.left -= count
        if self.left < 0:
            raise TooManyStepsError


_steps = _Steps()


def checked_schema(given: Any) -> Schema:
    """A copy of a pack's schema as plain data; `DeclarationError` says what is wrong with it."""
    try:
        text = json.dumps(given, allow_nan=False)
        schema = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise DeclarationError(f"input_schema must be JSON data: {error}") from None
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise DeclarationError('input_schema must be a schema with "type": "object"')
    if len(text) > LARGEST:
        raise DeclarationError(
            f"input_schema must have at most {LARGEST} bytes as JSON, not {len(text)}"
        )
    unevaluated = matched = False
    for path, part in _parts(schema, "", 0):
        for key in ("$ref", "$dynamicRef"):
            if key in part:
                _check_reference(f"{path}/{key}", part[key], schema)
        patterns = [("pattern", part["pattern"])] if "pattern" in part else []
        if isinstance(part.get("patternProperties"), dict):
            patterns += [("patternProperties", name) for name in part["patternProperties"]]
            matched = True
        for key, pattern in patterns:
            _check_pattern(f"{path}/{key}", pattern)
        unevaluated = unevaluated or "unevaluatedProperties" in part
    if unevaluated and matched:
        raise DeclarationError(
            "input_schema must not have both unevaluatedProperties and patternProperties"
        )
    _check_form(schema)
    try:
        _check_ends(schema, schema, {}, [])
    except RecursionError:
        raise DeclarationError("input_schema has too long a chain of references") from None
    return schema


def problems(schema: Schema, arguments: Any) -> Iterator[Any]:
    """What breaks a checked schema, as the library's errors; `TooManyStepsError` ends it."""
    _steps.left = STEPS
    yield from _validator()(schema, registry=_no_others()).iter_errors(arguments)


def _parts(schema: Any, path: str, depth: int) -> Iterator[tuple[str, Schema]]:
    """Every schema in a schema, with the place where it stands."""
    if depth > DEEPEST:
        raise DeclarationError(f"input_schema must not be nested more than {DEEPEST} deep")
    if isinstance(schema, list):
        for number, item in enumerate(schema):
            yield from _parts(item, f"{path}/{number}", depth)
    if not isinstance(schema, dict):
        return
    yield path, schema
    for key, value in schema.items():
        if key in SCHEMAS_BY_NAME and isinstance(value, dict):
            for name, item in value.items():
                yield from _parts(item, f"{path}/{key}/{name}", depth + 1)
        elif key not in DATA:
            yield from _parts(value, f"{path}/{key}", depth + 1)


def _check_reference(path: str, reference: Any, whole: Schema) -> None:
    shown = json.dumps(reference)[:SHOWN]
    if not isinstance(reference, str) or not reference.startswith("#"):
        raise DeclarationError(
            f"input_schema{path} must lead to a place in the schema itself (#/$defs/…), not to "
            f"{shown}: nothing is fetched"
        )
    if reference.startswith("#/") and pointed(whole, reference) is None:
        raise DeclarationError(f"input_schema{path} must lead to what is there, not to {shown}")


def _check_pattern(path: str, pattern: Any) -> None:
    if not isinstance(pattern, str):
        raise DeclarationError(f"input_schema{path} must be a string")
    try:
        _matcher(pattern)
    except SchemaError as error:
        why = str(error).strip().splitlines()[-1].removeprefix("error: ").strip()
        raise DeclarationError(
            f"input_schema{path} must be a pattern without look-around and backreferences, which "
            f"can be matched in linear time, not {json.dumps(pattern)[:SHOWN]}: {why[:SHOWN]}"
        ) from None


def _check_ends(part: Any, whole: Schema, done: dict[int, bool], places: list[Any]) -> None:
    """Whether every chain of references ends, or goes into the value before it comes back.

    `done` says of a schema, by its id, whether it was left again.
    """
    if not isinstance(part, dict) or done.get(id(part)):
        return
    if id(part) in done:
        raise DeclarationError(
            f"input_schema must not lead back to itself at the same value, as {places[-1]} does"
        )
    done[id(part)] = False
    if "$ref" in part:
        places.append(part["$ref"])
        _check_ends(pointed(whole, part["$ref"]), whole, done, places)
    for key in ("allOf", "anyOf", "oneOf"):
        for arm in part.get(key, ()):
            _check_ends(arm, whole, done, places)
    for key in ("not", "if", "then", "else"):
        _check_ends(part.get(key), whole, done, places)
    done[id(part)] = True
    for _, inner in _parts(part, "", 0) if part is whole else ():
        _check_ends(inner, whole, done, places)


def _check_form(schema: Schema) -> None:
    """Whether it is a JSON Schema at all (draft 2020-12)."""
    from jsonschema import Draft202012Validator, SchemaError as FormError

    try:
        Draft202012Validator.check_schema(schema, format_checker=None)  # type: ignore[arg-type]
    except FormError as error:
        path = "".join(f"/{part}" for part in error.absolute_path)
        raise DeclarationError(
            f"input_schema{path} is not JSON Schema: {error.message[:SHOWN]}"
        ) from None


@lru_cache(maxsize=1024)
def _matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a pattern is found in a text, by the engine of pydantic: linear in the text."""
    schema = core_schema.str_schema(pattern=pattern, regex_engine="rust-regex")
    return SchemaValidator(schema).isinstance_python


@cache
def _no_others() -> Any:
    """The schemas that references may lead to besides the own one: those of JSON Schema itself."""
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

    return REGISTRY


@cache
def _validator() -> Any:
    """The library's validator with our limits; its import takes 40 ms."""
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    def pattern(validator: Any, wanted: str, value: Any, _: Schema) -> Iterator[Any]:
        if isinstance(value, str) and not _matcher(wanted)(value):
            yield ValidationError("does not match")

    def pattern_properties(validator: Any, wanted: Schema, value: Any, _: Schema) -> Iterator[Any]:
        for expression, inner in wanted.items() if isinstance(value, dict) else ():
            matches = _matcher(expression)
            for name, item in value.items():
                _steps.take()
                if matches(name):
                    yield from validator.descend(item, inner, path=name, schema_path=expression)

    def additional(validator: Any, wanted: Any, value: Any, schema: Schema) -> Iterator[Any]:
        if not isinstance(value, dict):
            return
        known = schema.get("properties", {})
        matchers = [_matcher(one) for one in schema.get("patternProperties", {})]
        extra = [n for n in value if n not in known and not any(m(n) for m in matchers)]
        if wanted is False and extra:
            yield ValidationError("has more properties")
        for name in extra if isinstance(wanted, dict) else ():
            yield from validator.descend(value[name], wanted, path=name)

    def unique(validator: Any, wanted: bool, value: Any, _: Schema) -> Iterator[Any]:
        if wanted and isinstance(value, list):
            written = {json.dumps(_number(item), sort_keys=True) for item in value}
            if len(written) < len(value):
                yield ValidationError("has an element twice")

    ours = {
        "pattern": pattern,
        "patternProperties": pattern_properties,
        "additionalProperties": additional,
        "uniqueItems": unique,
    }
    rules = {**Draft202012Validator.VALIDATORS, **ours}
    counted = {
        name: _counted(rule, REFERENCE if name.endswith("Ref") or name == "$ref" else 1)
        for name, rule in rules.items()
    }
    return extend(Draft202012Validator, counted)  # type: ignore[no-untyped-call]


def _counted(rule: Callable[..., Any], steps: int) -> Callable[..., Any]:
    def counted(validator: Any, wanted: Any, value: Any, schema: Schema) -> Any:
        _steps.take(steps)
        return rule(validator, wanted, value, schema)

    return counted


def _number(value: Any) -> Any:
    """The data with 1 for every 1.0, which JSON Schema takes for the same."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _number(item) for key, item in value.items()}
    return [_number(item) for item in value] if isinstance(value, list) else value
