"""`mcp-host prompt`: one prompt, filled in."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .arguments import Given, pairs
from .common import ConfigOption, JsonOption
from .completion import prompts
from .questions import AnswerOption, AnswersOption, given_answers
from .running import Terminal, run


def prompt(
    name: Annotated[
        str,
        typer.Argument(help="The prompt, as `mcp-host prompts` names it.", autocompletion=prompts),
    ],
    given: Given = None,
    answer: AnswerOption = None,
    answers: AnswersOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fill in a prompt and show its messages."""
    values = dict(pairs(given))

    async def called(terminal: Terminal) -> dict[str, Any]:
        return await terminal.asking(terminal.host.get_prompt, name, values)

    run(config, called, as_json, given_answers(answers, answer))
