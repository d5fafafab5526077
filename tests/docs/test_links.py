"""Links between pages resolve."""

from pathlib import Path

import pytest
from docs_pages import DOCS, PAGES, ROOT, anchors, links, title


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_every_link_leads_to_a_file_and_a_heading_that_exist(page: Path) -> None:
    broken = []
    for target in links(page):
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append(target)

    assert not broken


def test_the_index_leads_to_every_page() -> None:
    index = DOCS / "README.md"
    linked = {(DOCS / link.partition("#")[0]).resolve() for link in links(index)}
    pages = {page for page in PAGES if DOCS in page.parents and page != index}

    assert not pages - linked


def test_the_readme_leads_to_the_index() -> None:
    linked = {(ROOT / link.partition("#")[0]).resolve() for link in links(ROOT / "README.md")}

    assert DOCS / "README.md" in linked
