"""`mcp-host call`: one call of a tool from the terminal, as a client would make it."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from .arguments import Given, pairs, value
from .common import ConfigOption, JsonOption
from .completion import tools
from .questions import AnswerOption, AnswersOption, given_answers
from .running import Terminal, run


def call(
    tool: Annotated[
        str, typer.Argument(help="The tool, as `mcp-host tools` names it.", autocompletion=tools)
    ],
    given: Given = None,
    arguments: Annotated[
        str | None, typer.Option("--arguments", help="All arguments as one JSON object.")
    ] = None,
    answer: AnswerOption = None,
    answers: AnswersOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Call a tool."""
    values = _whole(arguments) | {name: value(text) for name, text in pairs(given)}

    async def called(terminal: Terminal) -> dict[str, Any]:
        return await terminal.asking(terminal.host.call_tool, tool, values)

    run(config, called, as_json, given_answers(answers, answer))


def _whole(arguments: str | None) -> dict[str, Any]:
    if arguments is None:
        return {}
    try:
        parsed = json.loads(arguments)
    except ValueError as error:
        raise typer.BadParameter(f"--arguments must be JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise typer.BadParameter("--arguments must be a JSON object")
    return parsed
