"""The public API: each name loads when it is used, and type checkers know the same names."""

import ast
import importlib
from pathlib import Path

import mcp_host
import pytest


def test_type_checkers_and_the_program_know_each_name_from_the_same_module() -> None:
    tree = ast.parse(Path(mcp_host.__file__).read_text("utf-8"))
    (checked,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and "CHECKING" in ast.unparse(node.test)
    )
    imported = {
        alias.asname: node.module
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert imported == mcp_host._MODULE_OF


@pytest.mark.parametrize("name", mcp_host.__all__)
def test_a_name_is_what_its_module_has(name: str) -> None:
    module = importlib.import_module(f"mcp_host.{mcp_host._MODULE_OF[name]}")

    assert getattr(mcp_host, name) is getattr(module, name)


def test_a_name_that_is_not_there_is_said_so() -> None:
    with pytest.raises(AttributeError, match="'mcp_host' has no attribute 'Tol'"):
        _ = mcp_host.Tol
