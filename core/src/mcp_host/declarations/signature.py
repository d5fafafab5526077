"""A function's signature as the host reads it: what a caller gives, and what the host fills in.

Annotations before `/` are never evaluated: they name the pack's service, whose import may be dear.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, get_args, get_origin

from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError

from .arguments import Arguments, DeclaredArguments, SchemaArguments
from .asked import AskedParameter, rounds, wants_context
from .context import Context
from .errors import DeclarationError
from .hints import read_hints
from .json_schema import Schema
from .markers import Ask, Complete, Header
from .output_schema import OutputSchema


class Signature:
    """What the host knows of one function; made by `read_signature`.

    `service` and `context` are the names of the parameters that get the pack's service and the
    `Context`, None where there is none; `asks_service` says that a question takes the service;
    `proposals` are the functions of `Complete`, by parameter; `rounds` are the names of `questions`
    in the order in which they can be asked, those of one round at once.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        service: str | None,
        asks_service: bool = False,
        context: str | None,
        arguments: Arguments,
        questions: Mapping[str, AskedParameter],
        rounds: Sequence[Sequence[str]],
        proposals: Mapping[str, Callable[..., Any]],
        returns: Any,
    ) -> None:
        self.function = function
        self.service = service
        self.asks_service = asks_service
        self.context = context
        self.arguments = arguments
        self.questions = questions
        self.rounds = rounds
        self.proposals = proposals
        self._returns = returns

    @cached_property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)

    @cached_property
    def output(self) -> OutputSchema | None:
        """What is said of a returned value; None where it is content or a text.

        Raises `DeclarationError` where the annotation has no JSON form.
        """
        try:
            return OutputSchema.of(self._returns)
        except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema) as error:
            shown = getattr(self._returns, "__qualname__", None) or str(self._returns)
            raise DeclarationError(
                f"{self.function.__qualname__}: the return annotation {shown} has no JSON form; "
                "return a model, a dataclass, a TypedDict or plain data, and annotate that"
            ) from error


def read_signature(function: Callable[..., Any], input_schema: Schema | None = None) -> Signature:
    """Read a function's signature; `DeclarationError` where it cannot serve as a contribution."""
    owner = f"{function.__module__}.{function.__qualname__}"
    try:
        return _read(function, owner, input_schema)
    except DeclarationError as error:
        raise DeclarationError(f"{owner}: {error}") from error


def _read(function: Callable[..., Any], owner: str, input_schema: Schema | None) -> Signature:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise DeclarationError(
            "an answer is returned, not yielded; collect its parts in a list and return that, and "
            "tell how far the call is with context.progress"
        )
    if isinstance(function, classmethod | staticmethod):
        raise DeclarationError(
            f"the function must be one of the module, not a {type(function).__name__}; the pack's "
            "service is its first parameter, before '/'"
        )
    parameters = dict(inspect.signature(function).parameters)
    before = [name for name, p in parameters.items() if p.kind is p.POSITIONAL_ONLY]
    if len(before) > 1:
        raise DeclarationError(f"only the service may stand before '/', not also {before[1]}")
    service = before[0] if before else None
    parameters.pop(service or "", None)

    context = takes_all = None
    questions: dict[str, AskedParameter] = {}
    proposals: dict[str, Callable[..., Any]] = {}
    arguments: dict[str, inspect.Parameter] = {}
    hints = read_hints(function, parameters)
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            wrapped = (
                "; where a decorator made it, functools.wraps(…) in that keeps them"
                if "<locals>" in function.__qualname__
                else ""
            )
            raise DeclarationError(
                f"*{name} has no place in a schema; name the parameters{wrapped}"
            )
        hint = hints.get(name, Any)
        markers = hint.__metadata__ if get_origin(hint) is Annotated else ()
        ask = next((marker for marker in markers if isinstance(marker, Ask)), None)
        if hint is Context:
            context = name
        elif ask is not None:
            questions[name] = AskedParameter.read(name, hint.__origin__, ask)
        elif input_schema is not None:
            takes_all = name
        else:
            arguments[name] = parameter.replace(annotation=hint)
            for marker in markers:
                if isinstance(marker, Complete):
                    proposals[name] = _proposing(name, marker.propose)
                elif isinstance(marker, Header) and get_args(hint)[0] not in (str, int, bool):
                    raise DeclarationError(
                        f"'{name}' must be a plain str, int or bool for Header('{marker.name}')"
                    )
    _check_questions(questions, {*arguments, *questions, takes_all})
    asks_service = any(asked.service is not None for asked in questions.values())
    return Signature(
        function,
        service=service,
        asks_service=asks_service,
        context=context,
        arguments=(
            DeclaredArguments(owner, arguments)
            if input_schema is None
            else SchemaArguments(input_schema, takes_all)
        ),
        questions=questions,
        rounds=rounds(questions),
        proposals=proposals,
        returns=hints.get("return"),
    )


def _proposing(name: str, propose: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `Complete`; `DeclarationError` where it wants what proposals do not get."""
    try:
        parameters = inspect.signature(propose).parameters.values()
    except ValueError:  # one that is written in C, and says nothing of its parameters
        return propose
    context = next((p.name for p in parameters if wants_context(p)), None)
    if context is None:
        return propose
    raise DeclarationError(
        f"the function that proposes values for '{name}' must take what was typed, with the "
        f"service before '/' and `arguments` where it needs them, and no Context ('{context}'): "
        "values are proposed outside of any call, so none may be those of one caller alone"
    )


def _check_questions(questions: Mapping[str, AskedParameter], known: set[str | None]) -> None:
    """`DeclarationError` where a question can never be put."""
    for name, asked in questions.items():
        for odd in sorted(asked.needs - known):
            raise DeclarationError(
                f"the question for '{name}' is made of '{odd}', which must be a parameter that a "
                "caller gives or answers"
            )
