"""Git: a checkout and its remotes, what it tells of them, and what its complaints mean."""

from .checkout import Checkout
from .locks import is_git_at_work, locks_of
from .process import Answer
from .remotes import Remote
from .states import State, Worktree
from .words import cause, refusal, way_out

__all__ = [
    "Answer",
    "Checkout",
    "Remote",
    "State",
    "Worktree",
    "cause",
    "is_git_at_work",
    "locks_of",
    "refusal",
    "way_out",
]
