"""Whether a branch's own work is in the main branch. The one place that decides it.

Own commits are those between where the branch began and its tip that were not on main when the
branch got them. git's reflog tells how the branch got a commit: made here, or brought by a merge, a
fast-forward or a reset from elsewhere. Where it does not tell, what was noted decides: at each of
our commands, where the branch stood and where main did. A commit that copies one of main is none of
its own, and neither is one that changes nothing.

They are merged where the tip is an ancestor of main, or every one of them is in main by its change
(a rebase), or the change of all together is that of one commit of main (a squash), or the forge
says so of a head that holds the tip. A change that main took back again is not merged.
"""

from .arrivals import Seen
from .proof import Evidence, Proof

__all__ = ["Evidence", "Proof", "Seen"]
