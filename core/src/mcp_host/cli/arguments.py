"""Arguments of a tool or a prompt as they are typed: `name=value`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

Given = Annotated[
    list[str] | None,
    typer.Argument(help="Arguments as name=value; a value is JSON where it is, else text."),
]


def pairs(given: Sequence[str] | None) -> list[tuple[str, str]]:
    """Each argument's name and value; typer tells the person of one that is neither."""
    found = []
    for text in given or ():
        name, equals, rest = text.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{text!r} must be name=value")
        found.append((name, rest))
    return found


def value(text: str) -> Any:
    """What a typed value stands for: JSON where it is JSON, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
