"""The architecture page tells of every room and every middleware, in the order they have."""

import re

from docs_core import CORE, middlewares
from docs_pages import DOCS, sections

PAGE = DOCS / "explanation" / "architecture.md"


def rooms() -> set[str]:
    """The folders and files of the core, as the page names them."""
    files = {path.name for path in CORE.glob("*.py")}
    return files | {f"{path.parent.name}/" for path in CORE.glob("*/__init__.py")}


def test_every_room_of_the_core_is_told() -> None:
    told = sections(PAGE)["The rooms"]

    assert not {room for room in rooms() if f"`{room}`" not in told}


def test_no_room_is_told_that_does_not_exist() -> None:
    rows = re.findall(r"^\| `([a-z_]+(?:\.py|/))` \|", sections(PAGE)["The rooms"], re.MULTILINE)

    assert rows
    assert set(rows) <= rooms()


def test_the_middleware_stands_in_the_order_of_the_host() -> None:
    told = re.findall(r"^\| `(\w+)` \|", sections(PAGE)["A call's way"], re.MULTILINE)

    assert told == middlewares()


def test_the_number_of_lines_that_the_page_tells_is_about_the_real_one() -> None:
    (told,) = re.findall(r"some ([\d,]+) lines", sections(PAGE)["The rooms"])
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in CORE.rglob("*.py"))

    assert abs(int(told.replace(",", "")) - lines) < lines / 10
