"""`mcp-host new`: a pack to begin with, that passes its own tests as it is."""

from .command import new

__all__ = ["new"]
