"""What can be done with a plan."""

from .inputs import Caller, Search
from .tasks import Page, Plan, Tasks

__all__ = ["Caller", "Page", "Plan", "Search", "Tasks"]
