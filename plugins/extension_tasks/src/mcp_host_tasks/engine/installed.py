"""Which engines are installed."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import NoEngineError
from ..settings import TasksSettings
from .protocol import Engine

GROUP = "mcp_host_tasks.engines"
OpenEngine: TypeAlias = Callable[[TasksSettings, Path], AbstractAsyncContextManager[Engine]]


def installed_engine(name: str) -> OpenEngine:
    """Find what opens the engine of this name. Raises `NoEngineError`."""
    if name == "sqlite":
        from .sqlite import open_engine  # needs no look at what is installed

        return open_engine
    for found in entry_points(group=GROUP, name=name):
        opened: Any = found.load()
        return opened  # type: ignore[no-any-return]  # what its author promises
    raise NoEngineError(
        f"engine must be the name of an installed engine of tasks, not {name!r}",
        [f"Install the distribution that offers it under {GROUP}, or leave it out"],
    )
