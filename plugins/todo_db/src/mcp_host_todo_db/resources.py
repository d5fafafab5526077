"""What a client can read and watch: a user's tasks, and what happened to them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from mcp_host import Context, resource
from pydantic_core import to_json

if TYPE_CHECKING:
    from .service import TaskService

TASKS = "todo://{user}/tasks"
HISTORY = "todo://{user}/history"


@lru_cache(1024)
def uris_of(user_id: str) -> tuple[str, str]:
    """The resources that change with a user's tasks."""
    user = quote(user_id, safe="")
    return TASKS.replace("{user}", user), HISTORY.replace("{user}", user)


@resource(TASKS, title="A user's tasks", mime="application/json", whose="user")
async def tasks(service: TaskService, /, user: str, context: Context) -> str:
    """A user's tasks as JSON, newest first, up to 500."""
    page = await service.page(user, caller=context.caller.subject)
    return to_json(page.tasks).decode()


@resource(HISTORY, title="What happened to a user's tasks", mime="application/json", whose="user")
async def history(service: TaskService, /, user: str, context: Context) -> str:
    """The latest 200 changes of a user's tasks as JSON, newest first: who did what, and when."""
    changes = await service.history(user, caller=context.caller.subject)
    return to_json(changes).decode()
