"""What can be done with a plan."""

from .page import Page
from .plan import Plan
from .requests import Caller, Search
from .service import Listener, PlanSettings, Service
from .tasks import Tasks

__all__ = ["Caller", "Listener", "Page", "Plan", "PlanSettings", "Search", "Service", "Tasks"]
