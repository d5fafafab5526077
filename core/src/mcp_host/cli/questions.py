"""Questions of a tool, answered by what was given beforehand or by the person at the terminal."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ..startup import signals
from ..startup.printable import shown
from .arguments import pairs, value
from .common import say

AnswerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--answer",
        help="Answer to a question, as name=value; may be given several times.",
        show_default=False,
    ),
]
AnswersOption = Annotated[
    str | None,
    typer.Option(
        "--answers",
        help="All answers as one JSON object; - reads it from standard input.",
        show_default=False,
    ),
]


def given_answers(whole: str | None, single: list[str] | None) -> dict[str, Any]:
    """The answers of a command line; typer tells the person of what cannot be one."""
    answers: Any = {}
    if whole is not None:
        try:
            answers = json.loads(sys.stdin.read() if whole == "-" else whole)
        except ValueError as error:
            raise typer.BadParameter(f"--answers must be JSON: {error}") from None
        if not isinstance(answers, dict):
            raise typer.BadParameter("--answers must be a JSON object")
    return {**answers, **{name: value(text) for name, text in pairs(single, "--answers")}}


class Answering:
    """Answers each question once with what was given, and has the person answer the rest."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._left = dict(given)
        self._used: dict[str, dict[str, Any]] = {}
        self._asks_a_person = sys.stdin.isatty()
        self.is_possible = bool(given) or self._asks_a_person

    def answer(self, name: str, question: Mapping[str, Any]) -> dict[str, Any]:
        """The answer, as the protocol has it; a person who leaves the question cancels it.

        `name` is that of the parameter that asks: `name.field` answers this question alone.

        Raises `typer.BadParameter` where an answer is missing, or was refused and is asked for
        again, and there is nobody to ask.
        """
        if question["method"] != "elicitation/create":
            return {}
        params = question["params"]
        fields = params["requestedSchema"]["properties"]
        given = {field: self._given(name, field, len(fields)) for field in fields}
        known = {field: self._left.pop(key) for field, key in given.items() if key is not None}
        asked = {field: schema for field, schema in fields.items() if field not in known}
        used = self._used.setdefault(name, {})
        refused = {field: used[field] for field in asked if field in used}
        used.update(known)
        if not asked:
            return {"action": "accept", "content": known}
        if not self._asks_a_person and refused:
            raise typer.BadParameter(shown(f"{params['message']} This was no answer: {refused}"))
        if not self._asks_a_person:
            options = {field: self._option(name, field, len(fields)) for field in asked}
            content = {**known, **_defaults(params, asked, options)}
            return {"action": "accept", "content": content}
        say(params["message"])
        # Handlers of the loop would only note a signal and let the prompt wait on.
        noted = {number: signal.signal(number, _at_prompt(number)) for number in signals.NUMBERS}
        try:
            content = {field: _field(field, schema) for field, schema in asked.items()}
        except (typer.Abort, KeyboardInterrupt):
            return {"action": "cancel"}
        finally:
            for number, handler in noted.items():
                signal.signal(number, handler)
        return {"action": "accept", "content": {**known, **content}}

    def _given(self, name: str, field: str, fields: int) -> str | None:
        """What a field's answer was given as, which is not used up; None where there is none."""
        keys = (f"{name}.{field}", *([name] if fields == 1 else []), field)
        return next((key for key in keys if key in self._left), None)

    def _option(self, name: str, field: str, fields: int) -> str:
        """The name to answer a field by; where another question had that answer, this one's own."""
        taken = any(field in used for other, used in self._used.items() if other != name)
        return f"{name}.{field}" if taken else name if fields == 1 else field


def _at_prompt(number: int) -> Any:
    """What a signal does while a person is asked: Ctrl-C leaves the question, others end all."""
    if number == signal.SIGINT:
        return signal.default_int_handler
    ignored = signal.getsignal(number) == signal.SIG_IGN
    return signal.SIG_IGN if ignored else signal.SIG_DFL


def _defaults(
    params: Mapping[str, Any], fields: Mapping[str, Any], options: Mapping[str, str]
) -> dict[str, Any]:
    """What stands for fields that nobody answers: their defaults, or nothing where that will do."""
    required = params["requestedSchema"].get("required", ())
    missing = [name for name in fields if name in required and "default" not in fields[name]]
    if missing:
        given = " ".join(f"--answer {options[name]}=…" for name in missing)
        raise typer.BadParameter(shown(f"{params['message']} Answer with: {given}"))
    return {name: of["default"] for name, of in fields.items() if "default" in of}


def _field(name: str, schema: Mapping[str, Any]) -> Any:
    if schema.get("type") == "boolean":
        return typer.confirm(shown(name), default=schema.get("default"), err=True)
    choices = f" ({', '.join(map(str, schema['enum']))})" if "enum" in schema else ""
    text = typer.prompt(shown(f"{name}{choices}"), default=schema.get("default"), err=True)
    return text if schema.get("type") == "string" else value(str(text))
