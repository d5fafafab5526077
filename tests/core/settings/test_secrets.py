"""A secret is masked however it is written, and only what came from outside is one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, strategies as st
from mcp_host.errors import SettingsError
from mcp_host.settings.secrets import MASK, SecretReader, Secrets

VALUES = st.text('ab"\\é/ %\n', min_size=4, max_size=8)
WAYS: list[Callable[[str], str]] = [
    str,
    lambda value: json.dumps(value)[1:-1],
    lambda value: repr(value)[1:-1],
    lambda value: quote(value, safe=""),
]


@given(st.sets(VALUES, min_size=1, max_size=3), st.data())
def test_no_secret_survives_in_any_way_of_writing_it(values: set[str], data: Any) -> None:
    secrets = Secrets(values=frozenset(values))
    written = data.draw(st.sampled_from(WAYS))(data.draw(st.sampled_from(sorted(values))))

    shown = secrets.redact_data({"deep": [f"before {written} after"]})["deep"][0]

    assert MASK in shown
    assert not [way(value) for value in values for way in WAYS if way(value) in shown]


@given(st.text(max_size=20))
def test_a_text_without_a_secret_stays_as_it_is(text: str) -> None:
    assert Secrets(values=frozenset({"no-such-secret", "ab"})).redact(text) == text


@given(st.sets(VALUES, min_size=1, max_size=3), st.lists(st.text('ab"\\é/ %\n', max_size=20)))
def test_several_texts_are_masked_as_each_by_itself(values: set[str], texts: list[str]) -> None:
    secrets = Secrets(values=frozenset(values))

    assert list(secrets.redact_each(texts)) == [secrets.redact(text) for text in texts]


def test_a_secret_is_known_by_where_it_came_from_and_plain_values_are_none(tmp_path: Path) -> None:
    (tmp_path / "key.txt").write_text("of the file\n")
    reader = SecretReader(tmp_path, {"KEY": "of the environment"})

    read = reader.resolve(
        {
            "a": {"env": "KEY"},
            "b": [{"file": "key.txt"}],
            "c": {"env": "UNSET", "default": 5},
            "d": "plain",
            "e": {"env": "KEY", "other": 1},
        },
        (),
    )

    assert read == {
        "a": "of the environment",
        "b": ["of the file"],
        "c": 5,
        "d": "plain",
        "e": {"env": "KEY", "other": 1},
    }
    assert reader.secrets.values == {"of the environment", "of the file"}
    assert reader.secrets.keys == {("a",), ("b", 0), ("c",)}
    assert reader.secrets.variables == {"KEY", "UNSET"}
    assert reader.secrets.files == {str(tmp_path / "key.txt")}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"env": ""}, "a.b[0]: env must name a variable"),
        ({"env": "UNSET"}, "a.b[0]: the environment variable UNSET is not set"),
        (
            {"env": "UNSET", "default": []},
            "a.b[0]: default must be a string, a number or a boolean",
        ),
        ({"file": "none.txt"}, "a.b[0]: cannot read"),
        ({"file": "bytes"}, "bytes must be UTF-8 text"),
    ],
)
def test_a_secret_that_cannot_be_read_says_where_it_stands(
    tmp_path: Path, value: Any, said: str
) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff")

    with pytest.raises(SettingsError) as refused:
        SecretReader(tmp_path, {}).resolve({"a": {"b": [value]}}, ())

    assert said in str(refused.value)


def test_what_is_shown_has_a_mask_at_each_place_of_a_secret_whatever_its_value() -> None:
    data = {"http": {"tokens": [{"token": 1}, {"token": "x"}]}, "none": None}
    places = {("http", "tokens", 0, "token"), ("none", "deeper"), ("http", "tokens", 7, "token")}

    Secrets(keys=frozenset(places)).mask_places(data)

    assert data == {"http": {"tokens": [{"token": MASK}, {"token": "x"}]}, "none": None}
