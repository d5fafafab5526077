"""`mcp-host serve` for typer: its `--help` looks as that of every command does.

A start goes past typer, straight to `serve.py`; only `--help` and completion come here. The options
are those of the table that a start reads, so that each stands in one place.
"""

from __future__ import annotations

from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.markup import escape

from ..startup.options import CHOICES, HELP, MOST_WORKERS, SWITCHES, Options
from .serve import serve as begin

KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "--port": (int, {"min": 0, "max": 65535}),
    "--workers": (int, {"min": 1, "max": MOST_WORKERS}),
    "--root": (Path, {}),
    "--config": (Path, {}),
    **{name: (bool, {}) for name in SWITCHES},
}
"""What an option takes that takes neither a text nor one of `CHOICES`."""


def serve(**given: Any) -> None:
    """Serve the enabled packs to MCP clients, on stdio or HTTP."""
    if given.pop("stdio"):
        given["transport"] = "stdio"
    if given.pop("no_warm"):
        given["warm"] = False
    elif not given["warm"]:
        given["warm"] = None
    texts = {name: str(value) for name, value in given.items() if isinstance(value, Path)}
    begin(Options(**given | texts))


def _parameter(name: str) -> Parameter:
    """An option as a parameter of a typer command."""
    kind, more = KINDS.get(name, (str, {}))
    default: Any = False if kind is bool else None
    if name in CHOICES:
        kind = Literal[CHOICES[name]]
    if name == "--transport":
        default = CHOICES[name][0]
    told = escape(HELP[name])
    option = typer.Option(name, help=told, show_default=name == "--transport", **more)
    taken = kind if default is not None else kind | None
    return Parameter(
        name[2:].replace("-", "_"),
        Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[taken, option],
    )


serve.__signature__ = Signature([_parameter(name) for name in HELP])  # type: ignore[attr-defined]
