"""The `tasky` command, for the people whose agents share a plan."""

from .app import main

__all__ = ["main"]
