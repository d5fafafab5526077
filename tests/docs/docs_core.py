"""What the pages tell of the core, as its source has it."""

import ast
from collections.abc import Iterator

from docs_pages import ROOT

CORE = ROOT / "core" / "src" / "mcp_host"


def calls() -> Iterator[ast.Call]:
    """Every call in the core's source, but for the testing kit's: that runs in a test's process."""
    for file in sorted(CORE.rglob("*.py")):
        if file.is_relative_to(CORE / "testing"):
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                yield node


def middlewares() -> list[str]:
    """The middlewares by name, outermost first, and the end of the chain."""
    source = ast.parse((CORE / "host" / "host.py").read_text("utf-8"))
    made = next(
        node
        for node in ast.walk(source)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Chain"
    )
    chain, end = made.args
    assert isinstance(chain, ast.List)
    names = [_name(node) for node in (*chain.elts, end)]
    return [{"errorenvelope": "answer"}.get(name, name) for name in names]


def _name(node: ast.expr) -> str:
    """A middleware's name, whether it is a function, made by a class, or kept by the host."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr.strip("_").lower()
    assert isinstance(node, ast.Name), "the list of Chain must hold names, or calls of names"
    return node.id.lower()


def threads() -> set[str]:
    """The names of the core's threads; what is filled in is written NAME."""
    found = set()
    for node in calls():
        if getattr(node.func, "attr", "") != "Thread":
            continue
        for keyword in node.keywords:
            if keyword.arg == "name":
                found.add(_text(keyword.value))
    return found


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else "NAME"
