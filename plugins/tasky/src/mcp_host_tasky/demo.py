"""A plan that two agents share, for `mcp-host demo`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .storage import Home, open_store

if TYPE_CHECKING:
    from mcp_host import Demo


def prepare(folder: Path) -> Mapping[str, Any]:
    """A project with an SQLite store."""
    home = Home.of_user({"HOME": str(folder.parent / "home")})
    project = home.init(
        folder, store="sqlite", name="Website", description="A shop's new site.", zone="UTC"
    )
    open_store(project.location).close()
    return {"root": str(folder)}


async def play(demo: "Demo") -> None:
    """A plan in one call, who takes what, and an edit that is refused as a whole."""
    demo.say("The project, and a whole plan with its dependencies in one call.")
    await demo.call("project_info")
    plan = await demo.call(
        "create_tasks",
        tasks=[
            {"ref": "text", "name": "Write the texts", "priority": 4, "due_date": "next friday"},
            {"ref": "page", "name": "Build the page", "blockers": ["text"], "tags": ["code"]},
            {"name": "Go live", "priority": 5, "blockers": ["page"]},
        ],
    )
    texts, page, live = (task["task_id"][:8] for task in plan)
    demo.say("What can be begun now? One agent takes it; another hears who has it.")
    await demo.call("search_tasks", ready=True)
    claim = {"action": "claim", "task_id": texts}
    complete = {"action": "complete", "task_id": texts, "agent": "ann"}
    await demo.call("edit_tasks", operations=[{**claim, "agent": "ann"}])
    await demo.call("edit_tasks", operations=[{**claim, "agent": "bob"}])
    demo.say("Done; but one wrong operation in a bulk, and none of it happens.")
    await demo.call(
        "edit_tasks",
        operations=[
            complete,
            {"action": "update", "task_id": page, "blockers": [live]},
        ],
    )
    await demo.call("edit_tasks", operations=[complete])
    demo.say("What became free is taken in one call: chosen, claimed and shown.")
    await demo.call("edit_tasks", operations=[{"action": "next", "agent": "bob"}])
