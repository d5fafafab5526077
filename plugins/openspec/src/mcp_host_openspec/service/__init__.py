"""What can be done with an OpenSpec tree, without any MCP in it.

Every command imports this. What the tools answer stands in `service.service`, which only a server
needs.
"""

from ..storage.roots import Root
from .openspec import OpenSpec

__all__ = [
    "OpenSpec",
    "Root",
]
