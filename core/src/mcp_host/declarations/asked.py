"""The parameters that the host fills by asking."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from functools import cached_property
from string import Formatter
from typing import Any, Literal, Self, get_args, get_origin

from .asking import Answer, Form, Question
from .context import Context
from .errors import DeclarationError
from .hints import allows_none
from .markers import Ask


class AskedParameter:
    """One parameter that the host fills by asking.

    `accepts` is the type of an accepted answer. `on_refusal` says what a refusal does: it stops
    the call, gives None, or is told to the function as the whole `Answer`.
    """

    def __init__(self, ask: Ask, accepts: Any, on_refusal: Literal["stop", "none", "tell"]) -> None:
        self.ask = ask
        self.accepts = accepts
        self.on_refusal = on_refusal

    @classmethod
    def read(cls, name: str, hint: Any, ask: Ask) -> Self:
        """The parameter of this name and type; `DeclarationError` where no form can fill it."""
        if get_origin(hint) is Answer:
            made = cls(ask, get_args(hint)[0], "tell")
        elif allows_none(hint):
            made = cls(ask, next(a for a in get_args(hint) if a is not type(None)), "none")
        else:
            made = cls(ask, hint, "stop")
        if isinstance(ask.question, str):
            try:
                Form(ask.question, made.accepts, name)
            except TypeError as error:
                raise DeclarationError(f"'{name}': {error}") from error
        return made

    @cached_property
    def needs(self) -> frozenset[str]:
        """The names of the arguments and earlier answers that the question is made of."""
        question = self.ask.question
        if isinstance(question, str):
            fields = (field for _, field, _, _ in Formatter().parse(question) if field)
            return frozenset(re.split(r"[.\[]", field)[0] for field in fields)
        if isinstance(question, Question):
            return frozenset()
        return frozenset(
            p.name
            for p in inspect.signature(question).parameters.values()
            if p.default is p.empty and p.kind is not p.POSITIONAL_ONLY and not wants_context(p)
        )

    @cached_property
    def service(self) -> str | None:
        """The name that the function of the question has for the pack's service, if it takes it."""
        names = (p.name for p in self._parameters if p.kind is p.POSITIONAL_ONLY)
        return next(names, None)

    @cached_property
    def context(self) -> str | None:
        """The name that the function of the question has for the `Context`, if it takes it."""
        return next((p.name for p in self._parameters if wants_context(p)), None)

    @property
    def _parameters(self) -> list[inspect.Parameter]:
        question = self.ask.question
        if isinstance(question, str | Question):
            return []
        return list(inspect.signature(question).parameters.values())

    def value(self, answer: Any) -> Any:
        """What the parameter gets: the whole answer, or the value, with None for a refusal."""
        if not isinstance(answer, Answer) or self.on_refusal == "tell":
            return answer
        return answer.value if self.on_refusal == "none" else answer.or_stop()


def wants_context(parameter: inspect.Parameter) -> bool:
    """Whether a parameter gets the `Context`; annotations may be texts that are not evaluated."""
    hint = parameter.annotation
    return hint is Context or (isinstance(hint, str) and hint.rpartition(".")[2] == "Context")


def rounds(questions: Mapping[str, AskedParameter]) -> list[list[str]]:
    """The parameters in the order in which they can be asked, those of one round at once.

    A question is put when all the answers that it is made of are there. Raises `DeclarationError`
    where some wait for each other.
    """
    ordered: list[list[str]] = []
    waiting = dict(questions)
    while waiting:
        ready = [name for name in waiting if not waiting[name].needs & waiting.keys()]
        if not ready:
            raise DeclarationError(f"the questions for {', '.join(waiting)} wait for each other")
        for name in ready:
            del waiting[name]
        ordered.append(ready)
    return ordered
