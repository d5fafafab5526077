"""What can be done with a plan."""

from typing import TYPE_CHECKING, Any

from .asked import Caller, Search

if TYPE_CHECKING:
    from .plan import Plan
    from .tasks import Page, Tasks

__all__ = ["Caller", "Page", "Plan", "Search", "Tasks"]


def __getattr__(name: str) -> Any:
    # The stores come with these: a pack that is only listed does without them, and starts sooner.
    if name in ("Page", "Plan", "Tasks"):
        from . import tasks

        return getattr(tasks, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
