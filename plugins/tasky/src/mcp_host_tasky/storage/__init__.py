"""How a plan is kept: one shape of store, three kinds."""

from .base import Changes, Guard, Reading, Store, Writing, no_guard
from .location import Location, open_store

__all__ = [
    "Changes",
    "Guard",
    "Location",
    "Reading",
    "Store",
    "Writing",
    "no_guard",
    "open_store",
]
