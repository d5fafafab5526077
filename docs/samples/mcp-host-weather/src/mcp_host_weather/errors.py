"""What can go wrong."""

from collections.abc import Iterable
from difflib import get_close_matches


class UnknownCity(Exception):
    """Nobody has recorded a temperature there."""

    def __init__(self, city: str, known: Iterable[str]) -> None:
        super().__init__(f"No temperature is known for {city}")
        near = get_close_matches(city, list(known), 1)
        self.suggestions = [f"Did you mean {near[0]}?"] if near else []
