"""The to-do list at work, for `mcp-host demo`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_host import Demo


def prepare(folder: Path) -> Mapping[str, Any]:
    """An SQLite file in the scratch folder."""
    return {"url": f"sqlite:///{folder / 'todo.db'}"}


async def play(demo: Demo) -> None:
    """Two people with a list each; one of them tries the other's."""
    demo.say("Ann writes down what she has to do.")
    milk = await demo.call("add_task", user_id="ann", title="Buy groceries", description="Milk")
    await demo.call("add_task", user_id="ann", title="Call the plumber")
    demo.say("One thing is done; said twice, it stays done.")
    await demo.call("complete_task", user_id="ann", task_id=milk["task_id"], completed=True)
    await demo.call("complete_task", user_id="ann", task_id=milk["task_id"], completed=True)
    await demo.call("list_tasks", user_id="ann", status="pending")
    demo.say("Bob sees nothing of it, and a wrong word is answered with the right ones.")
    await demo.call("delete_task", user_id="bob", task_id=milk["task_id"])
    await demo.call("list_tasks", user_id="ann", status="archived")
