"""The desk: gates at which a call waits until a test lets it go, and errors that know too much."""

import asyncio
from collections import defaultdict


class DrawerStuck(Exception):
    """Tells the key in its message and in its attributes, as careless code does."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the drawer does not open with {key}")
        self.suggestions = [f"try another key than {key}"]
        self.details = {"reason": "drawer_stuck", "tried": [key]}


class NoSuchPaper(Exception):
    """Nothing of that name lies here."""


class Desk:
    def __init__(self, settings, pack) -> None:
        self.settings, self.pack = settings, pack
        self.runs: defaultdict[str, int] = defaultdict(int)
        self.passed: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.open: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.papers = {"tax": "1040", "tea": "green", "tie": "blue"}
