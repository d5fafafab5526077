"""Take the last command back: what it did here, and what it told others."""

from .command import undo

__all__ = ["undo"]
