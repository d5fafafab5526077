"""Arguments made from schemas: valid ones, nearly valid ones, and hostile ones.

Schemas are of the kind that pydantic writes. What hypothesis makes of them is small: a pack is
tried with many calls rather than with long ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

Schema = Mapping[str, Any]
Arguments = st.SearchStrategy[dict[str, Any]]

DEEPEST = 4
HOSTILE = (
    "",
    " ",
    "\x00",
    "a\nb\r\n",
    "../../../../etc/passwd",
    "/etc/passwd",
    "file:///etc/passwd",
    "C:\\Windows\\win.ini",
    "'; DROP TABLE tasks; --",
    '" OR 1=1 --',
    "$(id)",
    "`id`",
    "; id",
    "-rf",
    "--help",
    "{0.__class__}",
    "%s%n",
    "${jndi:ldap://localhost/a}",
    "<script>alert(1)</script>",
    "\u202egnp.exe",
    "ﬁ",
    "👩‍👩‍👧‍👦",
    "NaN",
    "null",
    "[]",
    "x" * 5000,
)
NUMBERS = (0, -1, 1, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**30, 0.5, -0.0, 1e308)
OTHERS: tuple[Any, ...] = (None, True, [], {}, [[]], {"": {}}, [None], "x", 1, 1.5)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2)
    ),
    max_leaves=4,
)
_FORMATS: Mapping[str, st.SearchStrategy[str]] = {
    "date-time": st.datetimes(timezones=st.timezones()).map(lambda value: value.isoformat()),
    "date": st.dates().map(str),
    "time": st.times().map(str),
    "uuid": st.uuids().map(str),
    "email": st.just("a@example.com"),
    "uri": st.just("https://example.com/a"),
    "duration": st.just("P1D"),
    "ipv4": st.just("127.0.0.1"),
    "ipv6": st.just("::1"),
}


def valid(schema: Schema) -> Arguments:
    """Arguments that fit the schema of a tool."""
    return _object(schema, schema, 0)


def nearly_valid(schema: Schema) -> Arguments:
    """Arguments of which one thing does not fit: a type, a name, a bound, one missing."""
    others = st.sampled_from(OTHERS)
    return st.builds(_spoiled, valid(schema), st.integers(0, 7), others, st.integers(0, 99))


def hostile(schema: Schema) -> Arguments:
    """Arguments of the right types where they can be, with texts and numbers that do harm."""
    return st.builds(_poisoned, valid(schema), st.sampled_from(HOSTILE), st.sampled_from(NUMBERS))


def _value(schema: Any, whole: Schema, depth: int) -> st.SearchStrategy[Any]:
    if not isinstance(schema, Mapping) or not schema:
        return _JSON
    if "$ref" in schema:
        return _value(_referred(schema["$ref"], whole), whole, depth + 1)
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            arms = schema[key]
            if depth >= DEEPEST:
                arms = [arm for arm in arms if arm.get("type") == "null"] or arms[:1]
            return st.one_of([_value(arm, whole, depth) for arm in arms])
    if "allOf" in schema:
        merged = {key: value for arm in schema["allOf"] for key, value in arm.items()}
        return _value(merged, whole, depth)
    kind = schema.get("type")
    if isinstance(kind, list):
        return st.one_of([_value({**schema, "type": one}, whole, depth) for one in kind])
    return _of_type(str(kind), schema, whole, depth)


def _of_type(kind: str, schema: Schema, whole: Schema, depth: int) -> st.SearchStrategy[Any]:
    if kind == "string":
        return _text(schema)
    if kind == "integer":
        low, high = _bounds(schema)
        return st.integers(int(low), int(high))
    if kind == "number":
        low, high = _bounds(schema)
        return st.floats(low, high, allow_nan=False, allow_infinity=False)
    if kind == "boolean":
        return st.booleans()
    if kind == "null":
        return st.none()
    if kind == "array":
        least = schema.get("minItems", 0)
        most = min(schema.get("maxItems", least + 3), least + 3)
        if depth >= DEEPEST:
            most = least
        return st.lists(
            _value(schema.get("items"), whole, depth + 1),
            min_size=least,
            max_size=most,
            unique_by=repr if schema.get("uniqueItems") else None,
        )
    return _object(schema, whole, depth)


def _object(schema: Schema, whole: Schema, depth: int) -> Arguments:
    required = set(schema.get("required", ()))
    properties = {
        name: _value(about, whole, depth + 1)
        for name, about in schema.get("properties", {}).items()
        if name in required or depth < DEEPEST
    }
    fixed = {name: made for name, made in properties.items() if name in required}
    optional = {name: made for name, made in properties.items() if name not in required}
    within = schema.get("additionalProperties")
    if not properties and isinstance(within, Mapping):
        return st.dictionaries(st.text(max_size=8), _value(within, whole, depth + 1), max_size=2)
    return st.fixed_dictionaries(fixed, optional=optional)


def _text(schema: Schema) -> st.SearchStrategy[str]:
    pattern, wanted = schema.get("pattern"), schema.get("format")
    if isinstance(wanted, str) and wanted in _FORMATS:
        return _FORMATS[wanted]
    least = schema.get("minLength", 0)
    most = min(schema.get("maxLength", least + 12), least + 12)
    if isinstance(pattern, str):
        try:
            return st.from_regex(re.compile(pattern), fullmatch=True).filter(
                lambda text: least <= len(text) <= schema.get("maxLength", 10_000)
            )
        except re.error:
            return st.text(min_size=least, max_size=most)
    letters = st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"))
    return st.text(letters, min_size=least, max_size=most)


def _bounds(schema: Schema) -> tuple[float, float]:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    if low is not None and "minimum" not in schema:
        low = low + 1
    if high is not None and "maximum" not in schema:
        high = high - 1
    low = low if low is not None else min(-1000, high) if high is not None else -1000
    return low, high if high is not None else max(1000, low)


def _referred(reference: str, whole: Schema) -> Any:
    found: Any = whole
    for part in reference.removeprefix("#/").split("/"):
        found = found.get(part.replace("~1", "/").replace("~0", "~"), {})
    return found


def _spoiled(arguments: dict[str, Any], way: int, other: Any, place: int) -> dict[str, Any]:
    """The arguments with one thing changed."""
    names = sorted(arguments)
    if way == 0 or not names:
        return {**arguments, "unheard_of": other}
    name = names[place % len(names)]
    rest = {key: value for key, value in arguments.items() if key != name}
    if way == 1:
        return rest
    if way == 2:
        return {**rest, name.upper() + "_": arguments[name]}
    if way == 3:
        return {**arguments, name: [arguments[name]]}
    if way == 4:
        return {**arguments, name: None}
    return {**arguments, name: other}


def _poisoned(value: Any, text: str, number: float) -> Any:
    if isinstance(value, str):
        return text
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return number
    if isinstance(value, list):
        return [_poisoned(item, text, number) for item in value] * 2
    if isinstance(value, dict):
        return {key: _poisoned(item, text, number) for key, item in value.items()}
    return value
