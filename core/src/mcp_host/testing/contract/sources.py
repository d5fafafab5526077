"""Mistakes that stand in the source of a pack's functions, and that no schema shows."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from ...packs.declared import Declared
from .finding import ContractFinding
from .words import contributions

PLAIN_CALLS = frozenset(
    (
        "progress",
        "log",
        "notify",
        "changed",
        "close_stream",
        "lists_changed",
        "degraded",
        "recovered",
        "offer",
        "withdraw",
    )
)
"""Methods of the context and of the pack's handle that are never awaited."""
_BLOCKING = {
    ("time", "sleep"): "await asyncio.sleep(…)",
    ("requests", None): "an async client, such as httpx.AsyncClient",
    ("subprocess", "run"): "await pack.run(…)",
    ("subprocess", "check_output"): "await pack.run(…)",
    ("urllib.request", "urlopen"): "an async client, such as httpx.AsyncClient",
}
_SWALLOWING = ("BaseException", "CancelledError")


def written(declared: Declared) -> Iterator[ContractFinding]:
    """Find mistakes in the source of the functions that the host calls."""
    seen: set[Any] = set()
    for _, one in contributions(declared):
        function = inspect.unwrap(one.function)
        if function not in seen:
            seen.add(function)
            yield from _function(one.name, function, one.signature.context)


def _function(
    name: str, function: Callable[..., Any], context: str | None
) -> Iterator[ContractFinding]:
    tree = _parsed(function)
    if tree is None:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Await):
            yield from _awaited(name, node, context)
        elif isinstance(node, ast.ExceptHandler):
            yield from _swallowed(name, node)
        elif isinstance(node, ast.Call) and isinstance(tree, ast.AsyncFunctionDef):
            yield from _blocks(name, node)


def _parsed(function: Callable[..., Any]) -> ast.AST | None:
    try:
        source = textwrap.dedent(inspect.getsource(function))
        module = ast.parse(source)
    except (OSError, TypeError, SyntaxError, ValueError):  # made by code, or not of Python
        return None
    return module.body[0] if module.body else None


def _awaited(name: str, node: ast.Await, context: str | None) -> Iterator[ContractFinding]:
    call = node.value
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return
    of, method = call.func.value, call.func.attr
    if isinstance(of, ast.Name) and of.id in (context, "pack") and method in PLAIN_CALLS:
        yield ContractFinding(
            "hooks",
            name,
            f"`await {of.id}.{method}(…)` fails when it is called: it is a plain call",
            f"leave out await: `{of.id}.{method}(…)`",
        )


def _swallowed(name: str, node: ast.ExceptHandler) -> Iterator[ContractFinding]:
    caught = _names(node.type)
    swallows = node.type is None or any(kind in _SWALLOWING for kind in caught)
    raises = any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
    if swallows and not raises:
        what = " or ".join(caught) or "everything"
        yield ContractFinding(
            "cancel",
            name,
            f"`except` of {what} in line {node.lineno} of the function swallows the cancellation, "
            "so the call goes on when nobody waits",
            "catch Exception or what you mean, or end the handler with `raise`",
        )


def _blocks(name: str, node: ast.Call) -> Iterator[ContractFinding]:
    dotted = _dotted(node.func)
    module, _, function = dotted.rpartition(".")
    instead = _BLOCKING.get((module, function)) or _BLOCKING.get((module, None))
    if instead:
        yield ContractFinding(
            "timeout",
            name,
            f"{dotted}() in an async function holds up every call of the pack, and no deadline "
            "ends it",
            f"{instead}, or a plain `def`, which runs in a thread of its own",
        )


def _names(node: ast.expr | None) -> list[str]:
    nodes = node.elts if isinstance(node, ast.Tuple) else [node] if node is not None else []
    return [_dotted(one).rpartition(".")[2] for one in nodes]


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
