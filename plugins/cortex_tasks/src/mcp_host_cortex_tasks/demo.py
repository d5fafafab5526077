"""A task's life, for `mcp-host demo`: a repository with a remote, and tasks without a server."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .model.task import Draft
from .storage.config_changes import set_value
from .storage.local import LocalTasks

if TYPE_CHECKING:
    from mcp_host import Demo

REMOTE, APP, HOME = "remote.git", "app", "home"


def prepare(folder: Path) -> Mapping[str, Any]:
    """A repository with one commit, a bare remote, and two tasks in local mode."""
    app, home = folder / APP, folder / HOME
    _git(folder, "init", "-q", "--bare", "-b", "main", REMOTE)
    _git(folder, "init", "-q", "-b", "main", APP)
    for key, value in (("user.name", "Ann"), ("user.email", "ann@example.com")):
        _git(app, "config", key, value)
    (app / "roof.txt").write_text("it leaks\n", "utf-8")
    _git(app, "add", "roof.txt")
    _git(app, "commit", "-q", "-m", "A house")
    _git(app, "remote", "add", "origin", str(folder / REMOTE))
    _git(app, "push", "-q", "origin", "main")
    settings = {"url": "local", "delete_local_on_done": "true", "delete_remote_on_done": "true"}
    for key, value in settings.items():
        set_value(home / "config.json", key, value)
    tasks = LocalTasks(home / "tasks.db")
    tasks.create(Draft("Mend the roof", priority="HIGH", deadline="2027-01-31", type="fix"))
    tasks.create(Draft("Paint the fence"))
    return {"root": str(app), "home": str(home)}


async def play(demo: "Demo") -> None:
    """From the list to a merged branch; twice the evidence is missing."""
    app = demo.folder / APP
    demo.say("What is there to do?")
    tasks = await demo.call("list_tasks")
    number = tasks["tasks"][0]["id"]
    demo.say("The task gets a branch; starting it again finds the same one.")
    started = await demo.call("start_task", task_id=number)
    await demo.call("start_task", task_id=number)
    await demo.call("get_task_status")
    demo.say("The roof is mended. A commit needs words, and without them nothing is touched.")
    (app / "roof.txt").write_text("it is dry\n", "utf-8")
    await demo.call("submit_pr")
    await demo.call("submit_pr", commit_message="Mend the roof")
    demo.say("Nobody has merged it yet, so it is not done.")
    await demo.call("complete_task")
    demo.say("Now somebody merges it. The branches go, the commits stay.")
    _git(demo.folder / REMOTE, "update-ref", "refs/heads/main", f"refs/heads/{started['branch']}")
    await demo.call("complete_task")
    await demo.call("get_task_status")
    demo.say("A task that is not there.")
    await demo.call("start_task", task_id=424242)


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)
