"""A page of what a search found, as callers get it."""

from dataclasses import dataclass

from .views import View


@dataclass(frozen=True, slots=True)
class Page:
    rows: list[View]
    total: int
    next_cursor: str | None
    dates: dict[str, str]
    """The dates searched by, as they were understood, where they were said in other words."""
    has_more: bool = False
    """Whether there are more than `total`, at which the count ended."""
