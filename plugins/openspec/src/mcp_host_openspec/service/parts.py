"""All that works on one tree, put together: what rules, merges and archives need of each other.

The first question of a session may be answered without it, so it is imported at the first need.
"""

from collections.abc import Callable
from datetime import date
from typing import Final

from ..storage.records import Records
from ..storage.tree import Tree
from .archives import Archives
from .bases import Bases
from .cache import DocumentCache, Merges, StateCache
from .listing import Listing
from .overlaps import Overlaps
from .rebases import Rebases
from .record_keeper import RecordKeeper
from .rules.change import ChangeRules
from .setup import Setup
from .validation import Validation


class Parts:
    """What answers each kind of question about one tree, with what they remember in common.

    Of a tree that is looked at `once` no states are remembered.
    """

    def __init__(self, tree: Tree, today: Callable[[], date], *, once: bool) -> None:
        cache = DocumentCache()
        states = StateCache(_unknown if once else tree.state)
        merges = Merges(cache)
        rules = ChangeRules(tree, merges)
        records = Records(tree.openspec, tree.files)
        bases = Bases(tree, records, tree.history)
        keeper = RecordKeeper(tree, records, bases)
        self.archives: Final = Archives(tree, rules, merges, bases, keeper, today)
        self.rebases: Final = Rebases(tree, records, merges, bases)
        self.overlaps: Final = Overlaps(tree)
        self.setup: Final = Setup(tree)
        self.listing: Final = Listing(tree, cache, states)
        self.validation: Final = Validation(
            tree, rules, self.archives, bases, self.overlaps, cache, states
        )


def _unknown(_: str) -> None:
    """The state of a change where nobody will ask again."""
