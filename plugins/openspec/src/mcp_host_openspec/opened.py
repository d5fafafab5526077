"""What the pack's tools, resources and prompts work with while it is open."""

from collections.abc import Callable
from dataclasses import dataclass

from .service import OpenSpec


@dataclass(frozen=True, slots=True)
class Opened:
    """The project's tree, and what the host tells the pack."""

    openspec: OpenSpec
    tool_name: Callable[[str], str]
    """The name under which clients know one of our tools."""
    set_up: Callable[[], None]
    """Say that the tree is there now."""
