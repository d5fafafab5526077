"""What the pack's tools work on."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Lists:
    """The lists of tools, prompts and resources, as far as a tool can have them announced."""

    announce: Callable[[], None]
