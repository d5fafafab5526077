"""The glossary has the words that the code and the other pages use, each once."""

import re
from pathlib import Path
from typing import get_args

import pytest
from docs_core import middlewares
from docs_pages import DOCS, PAGES, ROOT, headings, links, sections, title
from mcp_host.packs.conditions import State

PAGE = DOCS / "reference" / "glossary.md"
REPLACED = "Words that were replaced"
ENTRIES = {word: text for word, text in sections(PAGE).items() if word != REPLACED}
SENTENCES = 4


@pytest.mark.parametrize("word", [*get_args(State), *middlewares(), "middleware", "state"])
def test_every_state_and_every_middleware_has_an_entry(word: str) -> None:
    spoken = word.replace("_", " ")

    assert spoken in ENTRIES
    if word in middlewares()[:-1]:
        assert f"middleware `{word}`" in ENTRIES[spoken] or "middleware that" in ENTRIES[spoken]


def test_the_entries_stand_in_the_order_of_the_alphabet_each_once() -> None:
    words = [word for word in headings(PAGE)[1:] if word != REPLACED]

    assert words == sorted(set(words), key=str.lower)


@pytest.mark.parametrize("word", ENTRIES)
def test_an_entry_is_short_and_leads_to_where_more_is_told(word: str) -> None:
    text = ENTRIES[word].strip()

    assert re.search(r"\]\(([^)]+)\)", text)
    assert len(re.findall(r"[.:] (?=[A-Z`])|\.$", text)) <= SENTENCES


def test_the_pages_that_use_the_words_lead_here() -> None:
    for page in (DOCS / "README.md", DOCS / "explanation" / "architecture.md"):
        assert PAGE in {(page.parent / link.partition("#")[0]).resolve() for link in links(page)}


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_no_page_uses_a_word_that_was_replaced(page: Path) -> None:
    old = re.findall(r"^\| (?!not |---)([^|]+?) \|", sections(PAGE)[REPLACED], re.MULTILINE)
    text = " ".join(page.read_text("utf-8").split())
    used = {word for word in old if re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE)}

    assert old
    assert not used or page in (PAGE, ROOT / "CHANGELOG.md")
