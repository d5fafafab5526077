"""Schemas that the pickier clients refuse, with what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...packs.declared import Declared
from .finding import ContractFinding, Severity

DEEPEST = 10
"""Objects in one another: OpenAI takes no more."""
_PROPERTY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_HEEDED_FORMATS = frozenset(
    ("date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
)


class Picky(NamedTuple):
    """A keyword of JSON Schema: who refuses it, what to write instead, and how bad it is."""

    whom: str
    remedy: str
    severity: Severity = "error"


KEYWORDS: Mapping[str, Picky] = {
    "prefixItems": Picky(
        "OpenAI and Gemini", "take a list, or a model with a named field for each place"
    ),
    "patternProperties": Picky("OpenAI and Gemini", "name the properties, or take a list of pairs"),
    "not": Picky("OpenAI", "say what is allowed instead"),
    "if": Picky("OpenAI and Gemini", "check it in the function, and say so in the description"),
    "dependentRequired": Picky("OpenAI and Gemini", "check it in the function"),
    "dependentSchemas": Picky("OpenAI and Gemini", "check it in the function"),
    "unevaluatedProperties": Picky("OpenAI and Gemini", "leave it out"),
    "propertyNames": Picky("OpenAI", "name the properties, or take a list of pairs"),
    "allOf": Picky("OpenAI", "write one model with all fields"),
    "oneOf": Picky("OpenAI and Gemini", "write anyOf: a union without a discriminator"),
    "$dynamicRef": Picky("OpenAI and Gemini", "write the schema in its place"),
}


def portable(declared: Declared) -> Iterator[ContractFinding]:
    """Find what clients known to be picky refuse in the schemas of a pack's tools."""
    for tool in declared.tools:
        schema = tool.signature.arguments.schema
        yield from _root(tool.name, schema)
        yield from _walked(tool.name, schema, schema, "", 0)
        published = tool.listed(tool.name, lambda text: text).get("outputSchema")
        if published is not None:
            yield from _type_lists(tool.name, published, "result")


def _root(name: str, schema: Mapping[str, Any]) -> Iterator[ContractFinding]:
    for keyword in ("anyOf", "oneOf", "allOf", "enum", "not"):
        if keyword in schema:
            yield ContractFinding(
                "schemas",
                name,
                f"the arguments as a whole have {keyword}, which OpenAI refuses",
                "let the arguments be an object with properties, and check the rest in the "
                "function",
            )


def _walked(
    name: str, part: Any, whole: Mapping[str, Any], path: str, depth: int
) -> Iterator[ContractFinding]:
    if not isinstance(part, Mapping) or depth > 3 * DEEPEST:
        return
    where = f"{name}({path})" if path else name
    yield from _type_list(where, part)
    yield from _keywords(where, part)
    yield from _array(where, part)
    yield from _enum(where, part)
    if depth > DEEPEST:
        yield _found(where, "it is nested deeper than OpenAI takes", "make it flatter")
        return
    for key, inner in part.get("properties", {}).items():
        if not _PROPERTY.fullmatch(key):
            yield _found(
                where,
                f"the property {key!r} has a name that Anthropic and OpenAI refuse",
                "use letters, digits, '_', '.' and '-', up to 64",
            )
        yield from _walked(name, inner, whole, f"{path}.{key}".lstrip("."), depth + 1)
    for key in ("items", "additionalProperties"):
        if isinstance(part.get(key), Mapping):
            yield from _walked(name, part[key], whole, path, depth + 1)
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for inner in part.get(key, ()):
            yield from _walked(name, inner, whole, path, depth)
    for key, inner in part.get("$defs", {}).items():
        yield from _walked(name, inner, whole, f"{path}.{key}".lstrip("."), depth + 1)


def _type_list(where: str, part: Mapping[str, Any]) -> Iterator[ContractFinding]:
    kinds = part.get("type")
    if isinstance(kinds, list):
        arms = ", ".join(f'{{"type": "{kind}"}}' for kind in kinds)
        yield _found(
            where,
            '"type" is a list, which Gemini, ADK and the Inspector with --strict refuse',
            f'write "anyOf": [{arms}]',
        )


def _type_lists(name: str, part: Any, path: str) -> Iterator[ContractFinding]:
    """Lists of types anywhere in an output schema."""
    if isinstance(part, Mapping):
        if "type" not in part.get("properties", {}):
            yield from _type_list(f"{name} -> {path}", part)
        for inner in part.values():
            yield from _type_lists(name, inner, path)
    elif isinstance(part, list):
        for inner in part:
            yield from _type_lists(name, inner, path)


def _keywords(where: str, part: Mapping[str, Any]) -> Iterator[ContractFinding]:
    for keyword, picky in KEYWORDS.items():
        if keyword in part:
            yield _found(
                where,
                f'"{keyword}" is refused by {picky.whom}',
                picky.remedy,
                picky.severity,
            )
    wanted = part.get("format")
    if isinstance(wanted, str) and wanted not in _HEEDED_FORMATS:
        yield _found(
            where,
            f'the format "{wanted}" is refused by OpenAI with strict on',
            "take a plain string, and check it in the function",
            "advice",
        )
    within = part.get("additionalProperties")
    if part.get("type") == "object" and not part.get("properties") and within is not False:
        yield _found(
            where,
            "it is an object with any keys, which OpenAI refuses with strict on",
            "name the keys in a model or TypedDict, or take a list of pairs",
            "advice",
        )


def _array(where: str, part: Mapping[str, Any]) -> Iterator[ContractFinding]:
    if part.get("type") == "array" and "prefixItems" not in part and not part.get("items"):
        yield _found(
            where,
            "nothing says what the list holds, and OpenAI and Gemini refuse it",
            "name the type: `list[str]` in place of `list`",
        )


def _enum(where: str, part: Mapping[str, Any]) -> Iterator[ContractFinding]:
    values = part.get("enum", [part["const"]] if "const" in part else [])
    if any(not isinstance(value, str) for value in values if value is not None):
        yield _found(
            where,
            "one of its allowed values is no string, and Gemini allows only strings there",
            "allow strings, or a number with ge and le",
            "advice",
        )


def _found(where: str, problem: str, remedy: str, severity: Severity = "error") -> ContractFinding:
    return ContractFinding("schemas", where, problem, remedy, severity)
