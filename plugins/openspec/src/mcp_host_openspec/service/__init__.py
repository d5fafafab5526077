"""What can be done with an OpenSpec tree, without any MCP in it."""

from ..storage.roots import Root
from .archive_plan import Options, Plan
from .losses import check_accepted
from .openspec import OpenSpec
from .rebases import Rebased
from .service import Service

__all__ = [
    "OpenSpec",
    "Options",
    "Plan",
    "Rebased",
    "Root",
    "Service",
    "check_accepted",
]
