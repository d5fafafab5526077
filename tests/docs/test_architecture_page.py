"""The architecture page tells of every room and every middleware, in the order they have."""

import ast
import re

from docs_pages import DOCS, ROOT, sections

PAGE = DOCS / "explanation" / "architecture.md"
CORE = ROOT / "core" / "src" / "mcp_host"


def test_every_room_of_the_core_is_told() -> None:
    told = sections(PAGE)["The rooms"]
    rooms = {path.name for path in CORE.iterdir() if path.suffix == ".py"} - {"__main__.py"}
    folders = {f"{path.parent.name}/" for path in CORE.glob("*/__init__.py")}
    transports = {path.name for path in (CORE / "transports").glob("[a-z]*.py")}

    assert not {room for room in rooms | folders | transports if f"`{room}`" not in told}


def test_no_room_is_told_that_does_not_exist() -> None:
    told = set(re.findall(r"`([a-z_]+\.py)`", sections(PAGE)["The rooms"]))

    assert not told - {path.name for path in CORE.rglob("*.py")}


def test_the_middleware_stands_in_the_order_of_the_host() -> None:
    told = re.findall(r"^\| `(\w+)` \|", sections(PAGE)["A call's way"], re.MULTILINE)
    source = ast.parse((CORE / "host.py").read_text("utf-8"))
    fold = next(
        node
        for node in ast.walk(source)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "fold"
    )
    chain, end = fold.args
    assert isinstance(chain, ast.List)
    names = [name(node) for node in (*chain.elts, end)]

    assert told == [{"log_calls": "log"}.get(found, found) for found in names]


def name(node: ast.expr) -> str:
    """A middleware's name, whether it is a function or made by a class."""
    if isinstance(node, ast.Call):
        node = node.func
    assert isinstance(node, ast.Name)
    return node.id.lower()
