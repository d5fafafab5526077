"""What a client can read and watch: the project, and each task, as Markdown."""

from typing import TYPE_CHECKING, Annotated

from mcp_host import Complete, Context, resource

from .render import project_text, task_text
from .service import Search
from .tools import caller, guard

if TYPE_CHECKING:
    from .opened import Opened

PROJECT = "tasky://project"
TASK = "tasky://tasks/{id}"
_MOST_COMPLETIONS = 100


def task_uri(task_id: str) -> str:
    return TASK.replace("{id}", task_id)


def task_ids(opened: "Opened", /, value: str) -> list[str]:
    """Complete the beginning of a task's id."""
    return opened.tasks().ids_from(value, _MOST_COMPLETIONS)


@resource(PROJECT, title="The project", mime="text/markdown")
def project(opened: "Opened", /, context: Context) -> str:
    """The project's counts, and the tasks that can be begun."""
    tasks = opened.tasks()
    page = tasks.search(Search(ready=True), caller(context), guard(context))
    return project_text(tasks.info(guard(context)), page.rows)


@resource(TASK, title="A task", mime="text/markdown")
def task(
    opened: "Opened",
    /,
    id: Annotated[str, Complete(task_ids)],
    context: Context,
) -> str:
    """A task with its details, relations and history."""
    tasks = opened.tasks()
    found, *near = tasks.get([id], depth=1, guard=guard(context))
    history = tasks.history(str(found["task_id"]), limit=20)
    return task_text(found, {str(one["task_id"]): one for one in near}, history)
