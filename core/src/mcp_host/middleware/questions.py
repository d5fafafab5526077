"""What a contribution declares to ask is asked before its body runs, in both protocol eras.

The call holds no slot and its deadline has not begun while a person thinks; the wait has a limit of
its own. A client that can be asked during the call (`call.live`) is; from any other the call comes
back with its questions, to be sent again with the answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from ..asking import MISFITS, ROUNDS, Answers, Form, Question
from ..calls import Call, Next, Wire
from ..errors import Cancelled, InvalidInput, MissingCapability, Unsupported
from ..running import Runtime
from ..signature import Asked


class Questions:
    """`runtime` finds a pack by name; `limit` is how many seconds a person may take."""

    def __init__(self, runtime: Callable[[str], Runtime], limit: float) -> None:
        self._runtime, self._limit = runtime, limit

    async def __call__(self, call: Call, following: Next) -> Wire:
        assert call.entry is not None
        asked = call.entry.contribution.signature.questions
        if not asked:
            return await following(call)
        call.answers = call.answers or Answers()
        values, unanswered = await self._answered(call, asked)
        if unanswered:
            return _input_required(call.answers, unanswered)
        call.values |= values
        return await following(call)

    async def _answered(
        self, call: Call, asked: Mapping[str, Asked]
    ) -> tuple[dict[str, Any], dict[str, Question]]:
        """The parameters' values; or, from a client that must come again, what it must answer."""
        values: dict[str, Any] = {}
        waiting = dict(asked)
        while waiting:
            ready = [name for name in waiting if not waiting[name].needs & waiting.keys()]
            unanswered: dict[str, Question] = {}
            for name in ready:
                parameter = waiting[name]
                question = await self._question(call, name, parameter, values)
                if not isinstance(question, Question):
                    values[name] = question
                elif parameter.on_refusal == "none" and not _can_be_asked(call, question):
                    values[name] = None  # an optional answer of a client that cannot give one
                elif call.live is not None:
                    values[name] = parameter.value(await self._live(call, name, question))
                else:
                    try:
                        _offered(call, question)
                        assert call.answers is not None
                        answer = call.answers.take(name, question)
                    except MISFITS:
                        unanswered[name] = question
                        continue
                    values[name] = parameter.value(answer)
                del waiting[name]
            if unanswered:
                return values, unanswered
        return values, {}

    async def _question(
        self, call: Call, name: str, parameter: Asked, earlier: Mapping[str, Any]
    ) -> Any:
        """The question, or the value itself where nothing need be asked."""
        question = parameter.ask.question
        known = {**call.values, **earlier}
        if isinstance(question, str):
            return Form(question.format_map(known), parameter.accepts, name)
        if isinstance(question, Question):
            return question
        wanted = {key: known[key] for key in parameter.needs}
        assert call.entry is not None
        async with asyncio.timeout(self._limit):
            return await self._runtime(call.entry.pack).run(question, **wanted)

    async def _live(self, call: Call, name: str, question: Question) -> Any:
        assert call.live is not None
        if not _can_be_asked(call, question):
            raise Unsupported(
                f"This needs a client that can be asked: it did not offer '{question.capability}'",
                details={"reason": "missing_capability", "capability": question.capability},
            )
        try:
            async with asyncio.timeout(self._limit):
                raw = await call.live(question.wire())
        except TimeoutError:
            raise Cancelled(
                f"Nobody answered within {self._limit:g} s", details={"reason": "no_answer"}
            ) from None
        try:
            return question.read(raw)
        except MISFITS:
            raise InvalidInput(
                f"The client's answer to '{name}' does not fit the question",
                details={"reason": "answer_misfits"},
            ) from None


def _can_be_asked(call: Call, question: Question) -> bool:
    return question.capability in call.context.caller.offers


def _offered(call: Call, question: Question) -> None:
    if not _can_be_asked(call, question):
        raise MissingCapability(question.capability)


def _input_required(answers: Answers, unanswered: Mapping[str, Question]) -> Wire:
    if answers.round >= ROUNDS:
        raise Cancelled(
            f"The questions did not end after {ROUNDS} rounds", details={"reason": "asks_for_ever"}
        )
    return {
        "resultType": "input_required",
        "requestState": answers.state(unanswered),
        "inputRequests": {name: question.wire() for name, question in unanswered.items()},
    }
