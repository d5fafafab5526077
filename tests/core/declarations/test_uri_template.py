"""A template of URIs matches what it can make, and gives back what it was made with."""

import re
from urllib.parse import quote

import pytest
from hypothesis import given, strategies as st
from mcp_host.declarations.errors import DeclarationError
from mcp_host.declarations.uri_template import UriTemplate

PLAIN = st.sampled_from(["/", "a", "b.c", "-", "x/y"])
PARTS = st.lists(st.tuples(PLAIN, st.booleans()), min_size=1, max_size=3)
VALUES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)


@given(PARTS, st.data())
def test_a_uri_made_of_a_template_gives_back_the_values(
    parts: list[tuple[str, bool]], data: st.DataObject
) -> None:
    text, uri, values = "made://", "made://", {}
    for index, (plain, several) in enumerate(parts):
        value = data.draw(VALUES)
        text += f"{plain}/{{{'+' if several else ''}v{index}}}/"
        uri += f"{plain}/{quote(value, safe='')}/"
        values[f"v{index}"] = value

    template = UriTemplate(text)

    assert template.variables == list(values)
    assert template.match(uri) == values


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("a://{x}", "a://b/c", None),
        ("a://{+x}", "a://b/c", {"x": "b/c"}),
        ("a://{x}", "a://", None),
        ("a://{x}", "a://b?c", None),
        ("a://{x}", "a://%252F", {"x": "%2F"}),
        ("a://{x}.{y}", "a://b.c", {"x": "b", "y": "c"}),
        ("a://(b)", "a://(b)", {}),
        ("a://(b)", "a://b", None),
        ("a://b{?x,y}", "a://b?y=%20&z=1", {"y": " "}),
        ("a://b{?x,y}", "a://b", {}),
        ("a://b{?x,y}", "a://bc", None),
        ("a://b?c=1{&x}", "a://b?c=1&x=2", {"x": "2"}),
    ],
)
def test_a_variable_is_one_segment_and_with_a_plus_several_decoded_once(
    template: str, uri: str, values: dict[str, str] | None
) -> None:
    assert UriTemplate(template).match(uri) == values


def test_bytes_that_are_no_text_are_refused_and_not_guessed() -> None:
    with pytest.raises(UnicodeDecodeError):
        UriTemplate("a://{x}").match("a://%FF")


def test_two_templates_have_one_shape_when_only_their_names_differ() -> None:
    assert UriTemplate("a://{x}/{+y}").shape == UriTemplate("a://{p}/{+q}").shape
    assert UriTemplate("a://{x}").shape != UriTemplate("a://{+x}").shape


@pytest.mark.parametrize(
    "text", ["no-scheme", "a://{x", "a://x}", "a://{}", "a://{x y}", "a://b{?x}"]
)
def test_what_is_no_template_is_refused_in_its_own_words(text: str) -> None:
    with pytest.raises(DeclarationError, match=re.escape(repr(text))):
        UriTemplate(text).check()
