"""What is wrong with a call's arguments, in words that a model can act upon.

A message names the argument and what is allowed, and never repeats a value: it may be a secret.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

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
_IN_QUOTES = {
    "list_type": 'as an array, as in ["…"]',
    "int_type": "as a number, without quotes",
    "float_type": "as a number, without quotes",
    "bool_type": "as true or false, without quotes",
}
"""How to give what came as a string, by pydantic's type of the problem."""
_NUMBERS = ("int_type", "float_type")


def explain(error: ValidationError, schema: Schema) -> InvalidInput:
    """pydantic's findings in our words, with the nearest known name for each unknown one."""
    problems: list[dict[str, str]] = []
    suggestions: list[str] = []
    found = error.errors(include_url=False, include_context=False)
    missing, unknown = _names_of("missing", found), _names_of("extra_forbidden", found)
    for item in found:
        problem = _WORDS.get(item["type"], item["msg"].removeprefix("Value error, "))
        place = item["loc"][:-1]
        if item["type"] == "extra_forbidden":
            name, needed = str(item["loc"][-1]), missing.get(place, [])
            is_one_for_one = len(needed) == len(unknown[place]) == 1
            known = _names_at(place, schema)
            problem, near = _unknown(name, known, needed, needed[0] if is_one_for_one else None)
            suggestions += near
        elif how := _how_to_give(item):
            suggestions.append(f"Give '{item['loc'][-1]}' {how}.")
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


def _how_to_give(item: ErrorDetails) -> str | None:
    """How to give what came as a string and is meant as something else; None where it is not."""
    given, kind = item["input"], item["type"]
    if not item["loc"] or not isinstance(given, str):
        return None
    if kind in _NUMBERS:
        try:
            float(given)
        except ValueError:
            return None
    return _IN_QUOTES.get(kind)


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


def _names_of(kind: str, found: Sequence[ErrorDetails]) -> dict[tuple[int | str, ...], list[str]]:
    """The names with a problem of this kind, by the place that they are missed or found at."""
    names: dict[tuple[int | str, ...], list[str]] = {}
    for item in found:
        if item["type"] == kind and item["loc"]:
            names.setdefault(item["loc"][:-1], []).append(str(item["loc"][-1]))
    return names


def _unknown(
    name: str, known: Sequence[str], needed: Sequence[str], instead: str | None
) -> tuple[str, list[str]]:
    """What to say of an unknown argument, and what to suggest: what is like it, else what is
    missing `instead` of it."""
    near = _meant(name, needed) or _meant(name, known) or instead
    if near:
        return "is not a known argument", [f"Did you mean '{near}' instead of '{name}'?"]
    if known:
        return f"is not a known argument; known are {', '.join(known)}", []
    return "is not a known argument", []


def _meant(name: str, known: Sequence[str]) -> str | None:
    """The known name that holds all words of a wrong one (`task_ids` for `ids`), begins with the
    same word (`due_before` for `due_after`), or is like it."""
    words = _words(name)
    whole = [one for one in known if {*words} <= {*_words(one)}]
    akin = [one for one in known if _words(one)[0] == words[0]]
    near = nearest(name, whole) or next(iter(whole), None)
    return near or nearest(name, akin) or nearest(name, known)


def _words(name: str) -> list[str]:
    """The words of a name, each in the singular."""
    return [word.removesuffix("s") for word in name.lower().split("_")]


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
