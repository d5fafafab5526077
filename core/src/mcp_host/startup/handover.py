"""What the time before the SDK leaves to the time with it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .first_answers import FirstAnswers
    from .frames import Id, Line, Splitter


class Handover:
    """What was begun before the SDK was there, for the link to go on with.

    `lines` are to be read as if they came now; the answers to `answered` were given already, and
    the SDK's are dropped. `unsent` is what the client has not taken yet, `splitter` holds what came
    of an unfinished line. `ended` says that the input has ended, `stopping` that a signal came, and
    `listed` that the client has seen a list. `answers` can answer more.
    """

    def __init__(
        self,
        *,
        lines: Iterable[Line] = (),
        answered: Iterable[Id] = (),
        unsent: bytes = b"",
        ended: bool = False,
        stopping: bool = False,
        splitter: Splitter | None = None,
        listed: bool = False,
        answers: FirstAnswers | None = None,
    ) -> None:
        self.lines = list(lines)
        self.answered = set(answered)
        self.unsent = unsent
        self.ended = ended
        self.stopping = stopping
        self.splitter = splitter
        self.listed = listed
        self.answers = answers
