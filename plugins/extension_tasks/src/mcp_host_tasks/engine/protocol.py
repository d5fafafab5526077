"""The engine: what keeps tasks, and brings what callers want to the host that runs a task.

Another engine, such as one that several machines share, is an entry point in the group
`mcp_host_tasks.engines`: a function of the pack's settings and its data folder that returns an
async context manager of an `Engine`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..model import Task


@dataclass(frozen=True)
class Wish:
    """What a caller wants of a running task: that it ends, or that it has these answers."""

    task_id: str
    cancel: bool = False
    answers: Mapping[str, Any] = field(default_factory=dict)


class Engine(Protocol):
    """Keeps tasks. `owner` is the name of this opening, which no other has or will have."""

    @property
    def owner(self) -> str: ...

    async def add(self, task: Task, *, running: int, kept: int) -> None:
        """Keep a new task: when this returns, `get` finds it, also after a crash.

        Raises `TooManyTasksError` where its caller has so many tasks that run, or that are kept.
        """

    async def get(self, task_id: str) -> Task | None:
        """Find a task; one whose owner has ended is `failed`, since nobody runs it any more."""

    async def change(self, task_id: str, change: Callable[[Task], Task]) -> Task | None:
        """Change a task that has not ended, as if alone, and return what it is now.

        `change` may be called again where somebody else changed it meanwhile. None where there is
        no such task.
        """

    async def wish(self, task: Task, wish: Wish) -> None:
        """Bring a wish to the owner of a task, once."""

    async def wishes(self, seconds: float) -> list[Wish]:
        """Wait so long for wishes to this owner, and take them; those for unknown tasks as well."""
