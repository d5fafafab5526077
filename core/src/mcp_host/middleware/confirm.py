"""Has a person agree before the calls that the settings name, whoever makes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from ..declarations.asking import ANSWER_ERRORS, Form
from ..errors import Cancelled, InvalidInput, MissingCapability
from ..packs.entry import Entry
from ..runtime.messages import Asked
from ..startup.printable import shown
from .call import Call, Next, Result

QUESTION = "host_confirm"
AGREED = "agreed:"
"""What stands before the state of a pack's own questions, once the person has agreed."""

SHOWN = 1000
"""Characters of a call's arguments that the person is shown."""


def is_confirmed(entry: Entry, globs: Sequence[str]) -> bool:
    """Whether a person must agree before this is called."""
    if not globs or not entry.has_name:
        return False
    return any(fnmatchcase(entry.name, glob) for glob in globs)


class Confirm:
    """`globs` match the public names of tools and prompts."""

    def __init__(self, globs: Sequence[str]) -> None:
        self._globs = globs
        self.is_used = bool(globs)

    def concerns(self, call: Call) -> bool:
        """Whether a person must agree before this call."""
        return is_confirmed(call.known, self._globs)

    async def __call__(self, call: Call, following: Next) -> Result:
        state = call.asking.state or ""
        if state.startswith(AGREED):
            call.asking = replace(call.asking, state=state.removeprefix(AGREED))
        elif QUESTION in call.asking.answers:
            self._read(call)
            call.asking = replace(call.asking, answers={}, state=None)
        elif "elicitation" not in call.context.caller.offers:
            raise MissingCapability("elicitation")
        else:
            return Asked({QUESTION: _question(call).wire()}, "asked")
        result = await following(call)
        if isinstance(result, Asked):
            return replace(result, state=AGREED + result.state)
        return result

    def _read(self, call: Call) -> None:
        """Return where the person agreed; `Cancelled` where not."""
        try:
            answer = _question(call).read(call.asking.answers[QUESTION])
        except ANSWER_ERRORS as error:
            raise InvalidInput(f"The answer to the host's question does not fit: {error}") from None
        if not answer.or_stop():
            raise Cancelled("The user chose not to run it.")


def _question(call: Call) -> Form[bool]:
    arguments = json.dumps(call.arguments, ensure_ascii=False, default=str)
    if len(arguments) > SHOWN:
        arguments = arguments[: SHOWN - 1] + "…"
    return Form(f"Run {call.known.name} with {shown(arguments)}?", bool, "agree")
