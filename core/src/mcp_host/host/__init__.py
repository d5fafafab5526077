"""Packs, settings and middleware as one host.

`host.py` has the host itself; beside it stand what it is made of: `changes.py` (who hears of what
changes), `arrivals.py` (waiting for packs that come late), `listening.py` (what one pack says
outside its answers) and `completion.py` (values proposed for an argument).
"""

from .changes import LISTS_CHANGED, ChangeListener
from .host import Host

__all__ = ["LISTS_CHANGED", "ChangeListener", "Host"]
