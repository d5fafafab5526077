"""The page on workers tells of every message of the border, and of its version."""

import inspect
import re

import pytest
from docs_pages import DOCS
from mcp_host.packs.children.frames import BORDER
from mcp_host.runtime.child_side import PackSide
from mcp_host.runtime.process.child import ConnectedChild

PAGE = (DOCS / "reference" / "workers.md").read_text("utf-8")


@pytest.mark.parametrize("hears", [ConnectedChild.hear, PackSide])
def test_every_message_that_a_side_hears_is_told(hears: object) -> None:
    heard = set(re.findall(r'"(\w+)" in message', inspect.getsource(hears)))  # type: ignore[arg-type]

    assert len(heard) > 5
    assert {word for word in heard if f'"{word}":' not in PAGE} == set()


def test_the_version_of_the_border_is_told() -> None:
    assert set(re.findall(r'"border": (\d+)', PAGE)) == {str(BORDER)}
