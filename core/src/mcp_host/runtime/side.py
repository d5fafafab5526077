"""A pack's side of a call: checks, questions, the pack's function, and the writing of its answer.

All that is code of a pack, or looks at an object of it, happens here: in the pack's own threads and
under the call's deadline. What goes back is plain and bounded.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from pydantic_core import to_json

from ..declarations.asking import ANSWER_ERRORS, ROUNDS, Answers, Form, Question
from ..declarations.context import Context
from ..declarations.contribution import Contribution
from ..declarations.signature import Signature
from ..declarations.tool import Tool
from ..errors import (
    BY_CODE,
    REQUEST_ID_KEY,
    CallError,
    Cancelled,
    InternalError,
    InvalidInput,
    MissingCapability,
    Unsupported,
)
from ..startup.protocol import HANDSHAKE_VERSIONS
from . import bounds, wire
from .mailbox import Repeatable
from .messages import (
    Answered,
    Asked,
    CallMessage,
    CannotAsk,
    Failed,
    ProposalsMessage,
    Proposed,
    Reason,
    Reply,
)

INTERNAL = "Something went wrong on the server; its log says what"
MOST_PROPOSALS = 10_000


_NOTHING: Mapping[str, Any] = {}


class Step(NamedTuple):
    """A piece of a call that may run code of the pack, and take as long as it likes.

    `is_async` is None where it must be looked at whether the function is `async def`.
    """

    function: Callable[..., Any]
    given: tuple[Any, ...] = ()
    named: Mapping[str, Any] = _NOTHING
    is_async: bool | None = None


Steps = Generator[Step, Any, Reply]
"""One call: each step that it gives is run by whoever drives it, and its outcome sent back."""


def steps(
    message: CallMessage,
    contribution: Contribution,
    service: object,
    context: Context,
    say: Callable[[Repeatable], None],
) -> Steps:
    """Make the steps of one call; its end is the reply. Exceptions of steps come through.

    `say` tells the host on the way what it must know of the call.
    """
    signature = contribution.signature
    arguments = signature.arguments
    check = arguments.check if message.kind in ("tool", "method") else arguments.check_texts
    values: dict[str, Any]
    if arguments.runs_code:
        values = yield Step(check, (message.arguments,))
    else:
        values = check(message.arguments)
    if signature.questions:
        answers = yield from _answers(message, signature, values, service, context)
        if isinstance(answers, Asked | CannotAsk):
            return answers
        values = {**values, **answers}
    if signature.context is not None:
        values = {**values, signature.context: context}
    given = (service,) if signature.service is not None else ()
    if isinstance(contribution, Tool) and contribution.knows_calls:
        known = {**message.arguments, **values}
        context.key = contribution.key_of(known)
        if callable(contribution.idempotent):
            wanted = {name: known.get(name) for name in contribution.idempotent_needs}
            is_async = contribution.idempotent_is_async
            is_so = yield Step(contribution.idempotent, named=wanted, is_async=is_async)
            say(Repeatable(is_so is True))
    context.begin()
    value = yield Step(signature.function, given, values, is_async=signature.is_async)
    return _written(message, contribution, value)


def failed(raised: BaseException, mapping: Mapping[type[BaseException], str]) -> Reply:
    """Return what is told of an exception: a pack's by its mapping, the host's own as it is.

    The most derived class of the mapping wins; anything that it does not name is internal, and its
    text is for the log alone.
    """
    if isinstance(raised, MissingCapability):
        return CannotAsk(raised.capability)
    try:
        known = _known(raised, mapping)
    except BaseException as error:  # the mapping or the exception is faulty itself
        return Failed("internal_error", INTERNAL, traceback=bounds.trace(error))
    if known.code == "internal_error":
        return Failed("internal_error", INTERNAL, traceback=bounds.trace(raised))
    return known


def _known(raised: BaseException, mapping: Mapping[type[BaseException], str]) -> Failed:
    if isinstance(raised, CallError):
        return Failed(
            raised.code,
            bounds.cut(str(raised)),
            bounds.texts(raised.suggestions),
            bounds.details(raised.details),
            _retryable(raised),
            sent=_sent(raised),
        )
    if isinstance(raised, BaseExceptionGroup) and len(raised.exceptions) == 1:
        return _known(raised.exceptions[0], mapping)
    for kind in type(raised).__mro__:
        if kind in mapping:
            return Failed(
                mapping[kind],
                bounds.cut(str(raised)) or kind.__name__,
                bounds.texts(getattr(raised, "suggestions", ())),
                bounds.details(getattr(raised, "details", None)),
                _retryable(raised),
                sent=_sent(raised),
            )
    return Failed("internal_error", INTERNAL)


def reason(raised: BaseException, mapping: Mapping[type[BaseException], str]) -> Reason:
    """Return in words why a pack could not be opened, or was lost."""
    while isinstance(raised, BaseExceptionGroup) and len(raised.exceptions) == 1:
        raised = raised.exceptions[0]
    known = failed(raised, mapping)
    if isinstance(known, Failed) and known.code != "internal_error":
        return Reason(known.message, bounds.cut("; ".join(known.suggestions)), expected=True)
    name = type(raised).__name__
    words = f"{name}: {bounds.text(raised)}"
    if not isinstance(raised, Exception):  # the call for an end of the process, or a cancellation
        words = f"{name} while opening"
    return Reason(bounds.cut(words), traceback=bounds.trace(raised))


def proposals(message: ProposalsMessage, contribution: Contribution, service: object) -> Step:
    """Return the step that asks for proposals, which gives the function only what it takes."""
    function = contribution.signature.proposals[message.argument]
    parameters = inspect.signature(function).parameters.values()
    takes_service = any(p.kind is p.POSITIONAL_ONLY for p in parameters)
    takes_given = any(p.name == "arguments" for p in parameters)
    return Step(
        function,
        (service, message.value) if takes_service else (message.value,),
        {"arguments": dict(message.given)} if takes_given else {},
    )


def proposed(values: Any, limit: int) -> Proposed:
    """Return the first proposals as texts; of an iterable without an end, those looked at."""
    looked_at = [bounds.text(value) for value in islice(values or (), MOST_PROPOSALS)]
    return Proposed(tuple(looked_at[:limit]), len(looked_at))


def _retryable(raised: BaseException) -> bool | None:
    """Return what the exception or its class says; None where only its code does."""
    for kind in (raised, *type(raised).__mro__):
        if isinstance(kind, type) and kind in BY_CODE.values():
            return None
        if "retryable" in vars(kind):
            said = raised.retryable  # type: ignore[attr-defined]
            return None if said is None else bool(said)
    return None


def _sent(raised: BaseException) -> bool | None:
    """Return what the exception says of whether anything was sent; None where it does not."""
    sent = getattr(raised, "sent", None)
    return sent if isinstance(sent, bool) else None


def as_call_error(reply: Failed) -> CallError:
    """Return the exception that stands for a failure on the host's side."""
    error = BY_CODE.get(reply.code, InternalError)(
        reply.message, suggestions=reply.suggestions, details=reply.details
    )
    if reply.retryable is not None:
        error.retryable = reply.retryable
    return error


def _written(message: CallMessage, contribution: Contribution, value: Any) -> Answered:
    """Write the answer, here where the value is; one that is too large is refused.

    What is surely too large is refused unwritten, and what has no end is cut before: writing is
    done in one piece, which holds the interpreter as long as it takes.
    """
    limit = message.max_answer_bytes
    least, has_iterators = bounds.least_bytes(value, limit)
    if has_iterators:
        value = bounds.listed(value, limit)
        least, _ = bounds.least_bytes(value, limit)
    if least > limit:
        if bounds.holds_itself(value):
            raise ValueError("an answer must be data that does not hold itself")
        raise _too_large(f"at least {least}", least, limit)
    body = contribution.written(value)
    if body is not None:
        meta = to_json({REQUEST_ID_KEY: message.request_id})
        body, code, is_wire = body[:-1] + b',"_meta":' + meta + b"}", "ok", True
    else:
        body, code, is_wire = _made(message, contribution.answer(value, message.target))
    if len(body) > limit:
        raise _too_large(str(len(body)), len(body), limit)
    return Answered(body, code, is_wire)


def _made(message: CallMessage, answer: dict[str, Any]) -> tuple[bytes, str, bool]:
    """The JSON of an answer, its code, and whether the protocol takes it as it is."""
    code = "error" if answer.get("isError") else "ok"
    meta = answer.pop("_meta", {})
    if message.caller.protocol in HANDSHAKE_VERSIONS:
        answer.pop("ttlMs", None)  # the handshake era knows no caching
        answer.pop("cacheScope", None)
    is_wire = wire.is_wire(answer, meta)
    answer["_meta"] = {**meta, REQUEST_ID_KEY: message.request_id}  # at the end of the body
    return to_json(answer, inf_nan_mode="null"), code, is_wire


def _too_large(size: str, least: int, limit: int) -> Unsupported:
    return Unsupported(
        f"The answer is {size} bytes long; {limit} are allowed",
        suggestions=["Ask for less at once, such as a page or a part of it"],
        details={"reason": "answer_too_large", "bytes": least, "limit": limit},
    )


def _answers(
    message: CallMessage,
    signature: Signature,
    arguments: Mapping[str, Any],
    service: object,
    context: Context,
) -> Generator[Step, Any, dict[str, Any] | Asked | CannotAsk]:
    """Find the values of the parameters that are asked for, or what must be asked first."""
    answers = Answers(message.answers, message.state)
    values: dict[str, Any] = {}
    for names in signature.rounds:
        unanswered: dict[str, Question] = {}
        for name in names:
            parameter = signature.questions[name]
            question = parameter.ask.question
            known = {**arguments, **values}
            if isinstance(question, str):
                question = Form(question.format_map(known), parameter.accepts, name)
            elif not isinstance(question, Question):
                wanted = {key: known[key] for key in parameter.needs}
                if parameter.context is not None:
                    wanted[parameter.context] = context
                given = (service,) if parameter.service is not None else ()
                question = yield Step(question, given, wanted)
            if not isinstance(question, Question):
                values[name] = question
            elif question.capability not in message.caller.offers:
                if parameter.on_refusal == "none":
                    values[name] = None  # an optional answer of a client that cannot give one
                    continue
                if not message.is_live:
                    return CannotAsk(question.capability)
                raise Unsupported(
                    "This needs a client that can be asked: it did not offer "
                    f"'{question.capability}'",
                    details={"reason": "missing_capability", "capability": question.capability},
                )
            else:
                try:
                    answer = answers.take(name, question)
                except ANSWER_ERRORS:
                    if message.is_live and name in message.answers:
                        raise InvalidInput(
                            f"The client's answer to '{name}' does not fit the question",
                            details={"reason": "answer_invalid"},
                        ) from None
                    unanswered[name] = question
                else:
                    values[name] = parameter.value(answer)
        if unanswered:
            if answers.round >= ROUNDS:
                raise Cancelled(
                    f"The questions did not end after {ROUNDS} rounds",
                    details={"reason": "too_many_rounds"},
                )
            questions = {name: question.wire() for name, question in unanswered.items()}
            return Asked(questions, answers.state(unanswered))
    return values
