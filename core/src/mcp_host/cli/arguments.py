"""Arguments of a tool or a prompt as they are typed: `name=value`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

Given = Annotated[
    list[str] | None,
    typer.Argument(help="Arguments as name=value; a value is JSON where it is, else text."),
]


Shifted = tuple[Path | None, str, list[str]]
"""Where the packs are, a name, and what was given behind it."""


def shifted(first: str, given: Sequence[str] | None, config: Path | None, what: str) -> Shifted:
    """Read `[PATH] NAME …`: where the first is a path, packs are served as they are written there.

    `what` is the word for the name, for a message.
    """
    rest = list(given or ())
    if not is_path(first):
        return config, first, rest
    if config is not None:
        raise typer.BadParameter(f"{first} and --config must not both be given")
    if not rest:
        raise typer.BadParameter(f"the name of a {what} must follow {first}")
    return Path(first), rest[0], rest[1:]


def is_path(text: str) -> bool:
    """Whether an argument is a path, and no name and no URI."""
    if "://" in text:
        return False
    beginnings = ("./", "../", "/", "~", ".\\", "..\\")
    return text in (".", "..") or text.endswith(".py") or text.startswith(beginnings)


def pairs(given: Sequence[str] | None, whole: str | None = None) -> list[tuple[str, str]]:
    """Each argument's name and value; typer tells the person of one that is neither.

    `whole` is the option that takes all of them as one JSON object, where there is one.
    """
    found = []
    for text in given or ():
        name, equals, rest = text.partition("=")
        is_object = text.startswith("{")
        if not equals or not name or is_object:
            instead = f", or follow {whole}" if whole and is_object else ""
            raise typer.BadParameter(f"{text!r} must be name=value{instead}")
        found.append((name, rest))
    return found


def value(text: str) -> Any:
    """What a typed value stands for: JSON where it is JSON, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
