"""Every sample of every page runs, and shows what it says it shows."""

import shutil
from pathlib import Path

import pytest
from docs_pages import PAGES, blocks, title
from docs_session import Session, fits

WITH_SAMPLES = [page for page in PAGES if any(blocks(page))]
pytestmark = pytest.mark.acceptance


@pytest.mark.parametrize("page", WITH_SAMPLES, ids=title)
def test_the_samples_of_a_page_run_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    if "$ curl " in page.read_text("utf-8") and not shutil.which("curl"):
        pytest.skip("the samples of this page need curl, which is not installed")
    session = Session(tmp_path)
    try:
        for block in blocks(page):
            session.run(block)
    finally:
        session.close()


def test_shown_output_must_be_the_real_one_but_for_what_is_left_out() -> None:
    assert fits("one … three\n…\nlast", "one  two three\nmore\nand more\nlast\n")
    assert fits("…\nlast", "last")
    assert not fits("one", "one\ntwo")
    assert not fits("one …", "two one")
