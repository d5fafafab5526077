"""What can be done with a plan."""

from .plan import Plan
from .requests import Caller, Search
from .service import Listener, PlanSettings, Service
from .tasks import Page, Tasks

__all__ = ["Caller", "Listener", "Page", "Plan", "PlanSettings", "Search", "Service", "Tasks"]
