"""How a plan is kept: one shape of store, three kinds."""

from .base import Changes, Guard, Reading, Store, Writing, no_guard
from .location import Location, open_store
from .projects import Home, Project, no_project

__all__ = [
    "Changes",
    "Guard",
    "Home",
    "Location",
    "Project",
    "Reading",
    "Store",
    "Writing",
    "no_guard",
    "no_project",
    "open_store",
]
