"""What can go wrong: a skill, a file or a folder that is not served."""

from collections.abc import Sequence


class SkillsError(Exception):
    """Something that was asked for is not served."""

    def __init__(self, message: str, suggestions: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.reason = "no_such_skill"
        self.suggestions = list(suggestions)
        self.details = {"reason": self.reason}
