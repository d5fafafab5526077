"""What can be done with an OpenSpec tree, without any MCP in it."""

from ..storage.roots import Root
from .archiving import Options, Plan, check_accepted
from .openspec import OpenSpec

__all__ = ["OpenSpec", "Options", "Plan", "Root", "check_accepted"]
