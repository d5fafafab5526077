"""Going on with a conversation that another process has begun."""

from __future__ import annotations

from .handover import Handover
from .json_text import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .first_answers import FirstAnswers
    from .frames import Id


def resumed(before: Handover, answers: FirstAnswers) -> Handover:
    """What came before, once `answers` have seen it as well; what can be answered now is."""
    unsent = bytearray(before.unsent)
    for line in before.lines:
        answer = answers.answer(line)
        if answer is not None and _id(answer) not in before.answered:
            unsent += answer + b"\n"
    return Handover(
        lines=answers.replay,
        answered=answers.answered | before.answered,
        unsent=bytes(unsent),
        ended=before.ended,
        stopping=before.stopping,
        splitter=before.splitter,
        listed=before.listed or answers.listed,
        answers=answers,
    )


def _id(answer: bytes) -> Id:
    request_id = loads(answer)["id"]
    return (type(request_id), request_id)
