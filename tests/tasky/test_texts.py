"""The text that an SQLite plan finds a task by, after a change: what a new task would have."""

import re
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given, settings, strategies as st
from mcp_host_tasky.model import Status, Task, fold, words_of
from mcp_host_tasky.storage.sqlite.texts import retold, text_of

WORDS = st.lists(
    st.sampled_from(
        [
            "a",
            "ab",
            "abc",
            "abcd",
            "abce",
            "xyz",
            "xyzz",
            "äbc",
            "日本語",
            "日本",
            "Dig",
            "dig-up",
            "it's",
            "12",
            "123",
            "·",
            "§",
            "¬abc",
        ]
    ),
    max_size=40,
).map(" ".join)
TAGS = st.lists(st.sampled_from(["abc", "xyz", "field work", "a·b", "日本"]), unique=True).map(
    lambda tags: tuple(sorted(tags))
)
NOW = datetime(2026, 11, 1, tzinfo=UTC)
PLAIN = Task(
    task_id="0" * 32, number=1, name="", details="", created_at=NOW, updated_at=NOW, revision=1
)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    return replace(
        PLAIN,
        name=draw(WORDS),
        details=draw(WORDS),
        tags=draw(TAGS),
        status=draw(st.sampled_from(Status)),
    )


@given(tasks(), tasks(), st.booleans())
@settings(max_examples=400, deadline=None)
def test_a_changed_text_has_the_words_of_a_new_one_and_the_index_is_told_of_the_others(
    old: Task, new: Task, keeps_details: bool
) -> None:
    if keeps_details:
        new = replace(new, details=old.details)
    before, wanted = set(text_of(old).split()), set(text_of(new).split())

    found = retold(old, new, text_of(old))

    assert set(found.text.split()) == wanted
    assert len(found.text.split()) == len(wanted)
    assert (set(found.gone), set(found.new)) == (before - wanted, wanted - before)


@given(st.text(max_size=60) | st.text(st.characters(max_codepoint=0x24F), max_size=60))
@settings(max_examples=600, deadline=None)
def test_words_are_what_stands_between_all_that_is_neither_letter_nor_digit(text: str) -> None:
    found = re.findall(r"[^\W_]+", fold(text))

    assert words_of(text) == list(dict.fromkeys(found))
