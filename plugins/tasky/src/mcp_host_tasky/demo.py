"""A plan that two agents share, for `mcp-host demo`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_host import Stage


def prepare(folder: Path) -> Mapping[str, Any]:
    """A project with an SQLite store."""
    from .storage import open_store  # here, so that only the demonstration pays for it
    from .storage.projects import Home

    home = Home.of_user({"HOME": str(folder.parent / "home")})
    project = home.init(
        folder, store="sqlite", name="Website", description="A shop's new site.", zone="UTC"
    )
    open_store(project.location).close()
    return {"root": str(folder)}


async def play(stage: "Stage") -> None:
    """A plan in one call, who takes what, and an edit that is refused as a whole."""
    stage.say("The project, and a whole plan with its dependencies in one call.")
    await stage.call("project_info")
    plan = await stage.call(
        "create_tasks",
        tasks=[
            {"ref": "text", "name": "Write the texts", "priority": 4, "due_date": "next friday"},
            {"ref": "page", "name": "Build the page", "blockers": ["text"], "tags": ["code"]},
            {"name": "Go live", "priority": 5, "blockers": ["page"]},
        ],
    )
    texts, page, live = (task["task_id"][:8] for task in plan)
    stage.say("What can be begun now? One agent takes it; another hears who has it.")
    await stage.call("search_tasks", ready=True)
    claim = {"action": "claim", "task_id": texts}
    await stage.call("edit_tasks", operations=[{**claim, "agent": "ann"}])
    await stage.call("edit_tasks", operations=[{**claim, "agent": "bob"}])
    stage.say("Done; but one wrong operation in a bulk, and none of it happens.")
    await stage.call(
        "edit_tasks",
        operations=[
            {"action": "complete", "task_id": texts},
            {"action": "update", "task_id": page, "blockers": [live]},
        ],
    )
    await stage.call("edit_tasks", operations=[{"action": "complete", "task_id": texts}])
    await stage.call("search_tasks", ready=True)
