"""What can be done: the work of `ctx`, and the `Service` whose `ctx` the MCP tools run."""

from .command import Service

__all__ = ["Service"]
