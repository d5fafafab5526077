"""`mcp-host call`: one call of a tool from the terminal, as a client would make it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from ..errors import ERROR_KEY
from .arguments import Given, pairs, shifted, value
from .common import JsonOption, SourceOption, is_written, say
from .completion import tools
from .questions import AnswerOption, AnswersOption, given_answers
from .running import Terminal, run


def call(
    tool: Annotated[
        str,
        typer.Argument(
            help="The tool, as `mcp-host tools` names it; before it, a file of Python or a "
            "project's folder may stand, whose packs are served as they lie there.",
            autocompletion=tools,
        ),
    ],
    given: Given = None,
    arguments: Annotated[
        str | None, typer.Option("--arguments", help="All arguments as one JSON object.")
    ] = None,
    answer: AnswerOption = None,
    answers: AnswersOption = None,
    config: SourceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Call a tool."""
    config, tool, rest = shifted(tool, given, config, "tool")
    values = _whole(arguments) | {name: value(text) for name, text in pairs(rest, "--arguments")}

    async def called(terminal: Terminal) -> dict[str, Any]:
        name = await terminal.known("tools", tool) if is_written(config) else tool
        result = await terminal.asking(terminal.host.call_tool, name, values)
        for text in () if as_json else _texts_wanted(result, rest):
            say(text)
        return result

    run(config, called, as_json, given_answers(answers, answer))


def _texts_wanted(result: Mapping[str, Any], given: Sequence[str]) -> Iterator[str]:
    """How to give those arguments as texts that were read as JSON, where texts are wanted."""
    envelope = (result.get("_meta") or {}).get(ERROR_KEY) or {}
    problems = (envelope.get("details") or {}).get("arguments") or ()
    wanted = {one["argument"] for one in problems if one["problem"].endswith("a valid string")}
    for name, text in pairs(given):
        if name in wanted:
            yield f"{name}={text} is read as JSON; as a text it is {name}='{json.dumps(text)}'"


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
