"""Start a task: its name, its ground, its place, and who is told."""

from .command import Start

__all__ = ["Start"]
