"""`mcp-host check`: what is wrong with a pack, and how to mend it."""

from .command import check

__all__ = ["check"]
