"""How a pack is, in the words that people read."""

from __future__ import annotations

from typing import Literal

from ..startup.dataclass import dataclass

State = Literal["opening", "ready", "degraded", "failed", "disabled"]
NOT_SET_UP = "not_set_up"


@dataclass(frozen=True)
class Condition:
    """How a pack is: its state, a stable code, a reason for people, and what to do.

    `is_retried` says of a failed one that the host tries again by itself.
    """

    state: State
    code: str = ""
    reason: str = ""
    remedy: str = ""
    is_retried: bool = False

    @property
    def listed(self) -> bool:
        """Whether its tools, resources and prompts stand in the lists."""
        return self.state in ("opening", "ready", "degraded")

    def as_data(self) -> dict[str, str]:
        data = {
            "state": self.state,
            "code": self.code,
            "reason": self.reason,
            "remedy": self.remedy,
        }
        return {key: value for key, value in data.items() if value}


DISABLED = Condition("disabled", "disabled", "the settings disable it")
LOADING = Condition("opening", "loading", "it is being imported")
OPENING = Condition("opening", "opening", "it is being opened")
READY = Condition("ready")
