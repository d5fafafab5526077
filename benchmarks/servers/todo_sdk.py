"""A to-do list by hand, on the bare SDK or FastMCP with asyncpg: `todo_sdk.py sdk|fastmcp PORT`.

It takes the database's URL from DATABASE_URL, and reads and writes the table of Todo DB.
"""

import json
import logging
import os
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import asyncpg

LIST = (
    "SELECT id, title, description, is_completed, created_at FROM tasks"
    " WHERE user_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2"
)
ADD = "INSERT INTO tasks VALUES ($1, $2, $3, $4, false, $5, $5)"
TOGGLE = (
    "UPDATE tasks SET is_completed = NOT is_completed, updated_at = $3"
    " WHERE user_id = $1 AND id = $2 RETURNING title, is_completed"
)
pool: Any = None


async def list_tasks(user_id: str, limit: int = 500) -> str:
    """List a user's tasks, newest first."""
    rows = await pool.fetch(LIST, user_id, limit)
    return json.dumps([dict(row) for row in rows], default=str)


async def add_task(user_id: str, title: str, description: str | None = None) -> dict[str, str]:
    """Add a task to a user's to-do list."""
    task_id = uuid.uuid4()
    await pool.execute(ADD, task_id, user_id, title, description, datetime.now(UTC))
    return {"task_id": str(task_id), "status": "created", "title": title}


async def complete_task(user_id: str, task_id: str) -> dict[str, str]:
    """Flip the state of a task."""
    row = await pool.fetchrow(TOGGLE, user_id, uuid.UUID(task_id), datetime.now(UTC))
    status = "completed" if row["is_completed"] else "pending"
    return {"task_id": task_id, "status": status, "title": row["title"]}


@asynccontextmanager
async def lifespan(_server: object) -> AsyncIterator[None]:
    global pool
    if pool is None:  # the bare SDK opens it for each session
        pool = await asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=1, max_size=10)
    yield


def main() -> None:
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    made: Any
    if sys.argv[1] == "sdk":
        from mcp.server.mcpserver import MCPServer

        made = MCPServer("todo", log_level="WARNING", lifespan=lifespan)
        more: dict[str, Any] = {}
    else:
        from fastmcp import FastMCP

        made = FastMCP("todo", lifespan=lifespan)
        more = {"show_banner": False, "log_level": "WARNING"}
    for function in (list_tasks, add_task, complete_task):
        made.tool(function) if sys.argv[1] == "fastmcp" else made.tool()(function)
    transport = "streamable-http" if sys.argv[1] == "sdk" else "http"
    made.run(transport, host="127.0.0.1", port=int(sys.argv[2]), **more)


if __name__ == "__main__":
    main()
