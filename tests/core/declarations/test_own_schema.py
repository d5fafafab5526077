"""A schema of the pack's own is refused with a reason when it is loaded, and checks have limits."""

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from core_home import pack_of
from mcp_host import tool
from mcp_host.testing import hosted


def free(schema: Any) -> Any:
    @tool(input_schema=schema)
    def made(arguments: dict[str, Any]) -> dict[str, Any]:
        """Give back what came."""
        return arguments

    return made


def of(name: str, schema: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: schema}, **more}


def nested(depth: int) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


def itself() -> Any:
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {"a": schema}
    return schema


LOOKS_AHEAD = of("a", {"type": "string", "pattern": "^(?!a)b"})
WRONG: list[tuple[Any, str]] = [
    ({"type": "string"}, 'must be a schema with "type": "object"'),
    ([], 'must be a schema with "type": "object"'),
    ({"type": "object", "x": object()}, "must be JSON data"),
    (itself(), "must be JSON data"),
    (of("a", nested(100)), "must not be nested more than 64 deep"),
    (of("a", {"enum": ["x" * 300_000]}), "must have at most 262144 bytes"),
    (
        of("a", {"$ref": "https://example.org/schema.json"}),
        "input_schema/properties/a/$ref must lead to a place in the schema itself (#/$defs/…), not "
        'to "https://example.org/schema.json": nothing is fetched',
    ),
    (of("a", {"$ref": "file:///etc/passwd"}), "nothing is fetched"),
    (of("a", {"$ref": "#/$defs/none"}), "must lead to what is there"),
    (
        of("a", {"$ref": "#/$defs/a"}, **{"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}),
        "must not lead back to itself at the same value, as #/$defs/a does",
    ),
    (LOOKS_AHEAD, "input_schema/properties/a/pattern must be a pattern without look-around"),
    (of("a", {"pattern": r"(a)\1"}), "without look-around and backreferences"),
    (of("a", {"pattern": "("}), "unclosed group"),
    ({"type": "object", "patternProperties": {"(?=a)": {}}}, "patternProperties must be a pattern"),
    (of("a", {"type": "strng"}), "input_schema/properties/a/type is not JSON Schema"),
    (of("a", {"minimum": "1"}), "input_schema/properties/a/minimum is not JSON Schema"),
    (
        {"type": "object", "unevaluatedProperties": False, "patternProperties": {"a": {}}},
        "must not have both unevaluatedProperties and patternProperties",
    ),
]


@pytest.mark.parametrize(("schema", "said"), WRONG, ids=[said[:40] for _, said in WRONG])
async def test_a_schema_that_cannot_be_is_refused_with_its_place_and_what_is_right(
    schema: Any, said: str
) -> None:
    async with hosted({"made": pack_of(free(schema)), "other": pack_of(free(of("a", {})))}) as host:
        made, other = host.host.report()
        works = await host.value("other_made", a=1)

    assert (made["state"], made["code"]) == ("failed", "declaration_invalid")
    assert said in made["reason"]
    assert other["state"] == "ready"
    assert works == {"a": 1}


@pytest.fixture
def asked() -> Iterator[list[str]]:
    """What was fetched from a server on this machine; the first entry is its address."""

    class Asked(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.append(self.path)
            self.send_error(404)

    server = http.server.HTTPServer(("127.0.0.1", 0), Asked)
    found = [f"http://127.0.0.1:{server.server_port}"]
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield found
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("how", ["$ref", "$dynamicRef", "$id"])
async def test_nothing_is_ever_fetched_for_a_schema(asked: list[str], how: str) -> None:
    address = f"{asked[0]}/schema.json"
    inner: Any = {how: address}
    if how == "$id":
        inner = {"$id": address, "$ref": "#elsewhere"}

    async with hosted({"made": pack_of(free(of("a", inner)))}) as host:
        (report,) = host.host.report()
        if report["state"] == "ready":
            await host.error("made_made", a=1)

    assert asked[1:] == []


async def test_patterns_are_matched_in_linear_time() -> None:
    schema = of("a", {"pattern": "^(a+)+$"}, patternProperties={"^(b+)+$": {"type": "integer"}})
    long = "a" * 50_000 + "!"  # an engine that goes back would not come to an end

    async with hosted({"made": pack_of(free(schema))}) as host:
        wrong = await host.error("made_made", a=long)
        fits = await host.value("made_made", a="aaa", **{"b" * 50_000 + "!": "x"})
        odd = await host.error("made_made", bb="x")

    assert "a: does not satisfy 'pattern'" in wrong["error"]
    assert fits["a"] == "aaa"
    assert "bb: must be of type integer" in odd["error"]


async def test_what_would_take_for_ever_is_given_up() -> None:
    doubled = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    many = of("a", {"$ref": "#/$defs/d0"}, **{"$defs": {**doubled, "d40": {"type": "string"}}})
    unlike = of("a", {"type": "array", "uniqueItems": True, "items": {"type": "object"}})
    deep = of(
        "a", {"$ref": "#/$defs/tree"}, **{"$defs": {"tree": {"items": {"$ref": "#/$defs/tree"}}}}
    )
    tree: Any = []
    for _ in range(300):
        tree = [tree]

    async with hosted({"made": pack_of(free(many))}) as host:
        given_up = await host.error("made_made", a=1)
    async with hosted({"made": pack_of(free(unlike))}) as host:
        fits = await host.value("made_made", a=[{"n": n} for n in range(20_000)])
        twice = await host.error("made_made", a=[{"n": 1}, {"n": 1.0}])
    async with hosted({"made": pack_of(free(deep))}) as host:
        nested_too_deeply = await host.error("made_made", a=tree)

    assert given_up["code"] == "validation_error"
    assert "they are too many to be checked" in given_up["error"]
    assert len(fits["a"]) == 20_000
    assert "a: does not satisfy 'uniqueItems'" in twice["error"]
    assert "nested too deeply" in nested_too_deeply["error"]


async def test_a_schema_that_leads_back_to_itself_by_what_is_inside_is_read_once() -> None:
    node = {"anyOf": [{"type": "object", "additionalProperties": {"$ref": "#/$defs/node"}}] * 2}
    schema = of("a", {"$ref": "#/$defs/node"}, **{"$defs": {"node": node}})

    async with hosted({"made": pack_of(free(schema))}) as host:
        fits = await host.value("made_made", a='{"x": {}}')
        wrong = await host.error("made_made", a={"x": 1})

    assert fits == {"a": {"x": {}}}
    assert "a: does not satisfy 'anyOf'" in wrong["error"]


async def test_more_than_is_known_is_refused_or_checked_as_the_schema_says() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {}},
        "patternProperties": {"^x-": {}},
        "additionalProperties": False,
    }
    typed = {**schema, "additionalProperties": {"type": "integer"}}

    async with hosted({"made": pack_of(free(schema)), "typed": pack_of(free(typed))}) as host:
        known = await host.value("made_made", **{"a": 1, "x-b": 2})
        refused = await host.error("made_made", c=1)
        wrong = await host.error("typed_made", c="1")

    assert known == {"a": 1, "x-b": 2}
    assert "has an argument that is not known" in refused["error"]
    assert "c: must be of type integer" in wrong["error"]
