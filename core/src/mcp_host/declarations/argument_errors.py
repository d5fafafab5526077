"""What is wrong with a call's arguments, in words that a model can act upon.

A message names the argument and what is allowed, and never repeats a value: it may be a secret.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from pydantic import ValidationError

from ..errors import InvalidInput, nearest
from .json_schema import Schema, alternatives
from .own_schema import TooManyStepsError, problems

SHOWN = 5
"""How many problems stand in the message."""
TOLD = 50
"""How many problems stand in the details."""
LOOKED_FOR = 1000
"""How many problems are looked for."""

_WORDS = {
    "missing": "is required",
    "string_unicode": "is not valid Unicode text (a lone surrogate)",
    "json_invalid": "is not valid JSON",
    "path_type": "must be a path, as a string",
}


def explain(error: ValidationError, schema: Schema) -> InvalidInput:
    """pydantic's findings in our words, with the nearest known name for each unknown one."""
    problems: list[dict[str, str]] = []
    suggestions: list[str] = []
    for item in error.errors(include_url=False, include_input=False, include_context=False):
        problem = _WORDS.get(item["type"], item["msg"].removeprefix("Value error, "))
        if item["type"] == "extra_forbidden":
            problem, near = _unknown(str(item["loc"][-1]), _names_at(item["loc"][:-1], schema))
            suggestions += near
        problems.append({"argument": ".".join(map(str, item["loc"])), "problem": problem})
    return _invalid(problems, suggestions)


def explain_by_schema(schema: Schema, arguments: Mapping[str, Any]) -> InvalidInput | None:
    """What in these arguments breaks a JSON Schema (draft 2020-12); None where nothing does."""
    try:
        found = [
            {
                "argument": ".".join(map(str, error.absolute_path)),
                "problem": _broken_rule(error.validator, error.validator_value, error.instance),
            }
            for error in islice(problems(schema, dict(arguments)), LOOKED_FOR)
        ]
    except TooManyStepsError:
        return InvalidInput("Invalid arguments: they are too many to be checked")
    except RecursionError:
        return InvalidInput("Invalid arguments: they are nested too deeply")
    return _invalid(found) if found else None


def _invalid(
    problems: Sequence[Mapping[str, str]], suggestions: Sequence[str] = ()
) -> InvalidInput:
    shown = [": ".join(filter(None, (p["argument"], p["problem"]))) for p in problems[:SHOWN]]
    if len(problems) > SHOWN:
        shown.append(f"and {len(problems) - SHOWN} more")
    return InvalidInput(
        f"Invalid arguments: {'; '.join(shown)}",
        suggestions=suggestions,
        details={"reason": "invalid_arguments", "arguments": list(problems[:TOLD])},
    )


def _unknown(name: str, known: Sequence[str]) -> tuple[str, list[str]]:
    """What to say of an unknown argument, and what to suggest."""
    near = nearest(name, known)
    if near:
        return "is not a known argument", [f"Did you mean '{near}' instead of '{name}'?"]
    if known:
        return f"is not a known argument; known are {', '.join(known)}", []
    return "is not a known argument", []


def _names_at(keys: Sequence[int | str], whole: Schema) -> list[str]:
    """The names of the properties at a place inside the schema."""
    here = alternatives(whole, whole)
    for key in keys:
        inside = []
        for schema in here:
            found = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            if isinstance(key, int):
                found = schema.get("items")
            if isinstance(found, dict):
                inside += alternatives(found, whole)
        # A key that leads nowhere is pydantic's name for the arm of a union.
        here = inside or here
    return list(dict.fromkeys(name for schema in here for name in schema.get("properties", ())))


def _broken_rule(rule: str, wanted: Any, value: Any) -> str:
    """What to say of a value that breaks a rule of JSON Schema."""
    if rule == "enum":
        return f"must be one of {', '.join(map(json.dumps, wanted))}"
    if rule == "required":
        return f"needs {', '.join(name for name in wanted if name not in value)}"
    if rule == "additionalProperties":
        return "has an argument that is not known"
    if rule == "type":
        return f"must be of type {wanted}"
    return f"does not satisfy '{rule}'"
