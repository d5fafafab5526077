"""`mcp-host prompt`: one prompt, filled in."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .arguments import Given, pairs, shifted
from .common import JsonOption, SourceOption, is_written
from .completion import prompts
from .questions import AnswerOption, AnswersOption, given_answers
from .running import Terminal, run


def prompt(
    name: Annotated[
        str,
        typer.Argument(
            help="The prompt, as `mcp-host prompts` names it; before it, a file of Python or a "
            "project's folder may stand.",
            autocompletion=prompts,
        ),
    ],
    given: Given = None,
    answer: AnswerOption = None,
    answers: AnswersOption = None,
    config: SourceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fill in a prompt and show its messages."""
    config, name, rest = shifted(name, given, config, "prompt")
    values = dict(pairs(rest))

    async def called(terminal: Terminal) -> dict[str, Any]:
        known = await terminal.known("prompts", name) if is_written(config) else name
        return await terminal.asking(terminal.host.get_prompt, known, values)

    run(config, called, as_json, given_answers(answers, answer))
