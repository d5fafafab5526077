"""Tasks of a Cortex backend, over HTTP with a JWT."""

from .backend import Backend
from .tasks import RemoteTasks

__all__ = ["Backend", "RemoteTasks"]
