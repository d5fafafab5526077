"""What can be done with an OpenSpec tree, without any MCP in it.

Every command imports this. What the tools answer stands in `service.service`, which only a server
needs.
"""

from ..storage.roots import Root
from .archive_plan import Options, Plan
from .losses import check_accepted
from .openspec import OpenSpec
from .rebases import Rebased

__all__ = [
    "OpenSpec",
    "Options",
    "Plan",
    "Rebased",
    "Root",
    "check_accepted",
]
