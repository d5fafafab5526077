"""What a client can read and watch: the project, and each task, as Markdown."""

from typing import TYPE_CHECKING, Annotated

from mcp_host import Complete, Context, resource

from ..tools import caller, guard
from .markdown import project_text, task_text

if TYPE_CHECKING:
    from ..service import Service

PROJECT = "tasky://project"
TASK = "tasky://tasks/{id}"
_MOST_COMPLETIONS = 100


def task_uri(task_id: str) -> str:
    return TASK.replace("{id}", task_id)


def task_ids(service: "Service", /, value: str) -> list[str]:
    """Complete the beginning of a task's id."""
    return service.tasks().ids_from(value, _MOST_COMPLETIONS)


@resource(PROJECT, title="The project", mime="text/markdown")
def project(service: "Service", /, context: Context) -> str:
    """The project's counts, and the tasks that can be begun."""
    page = service.search(caller(service, context), guard(context), ready=True)
    return project_text(service.tasks().info(guard(context)), page.rows)


@resource(TASK, title="A task", mime="text/markdown")
def task(
    service: "Service",
    /,
    id: Annotated[str, Complete(task_ids)],
    context: Context,
) -> str:
    """A task with its details, relations and history."""
    tasks = service.tasks()
    found, *near = tasks.get([id], depth=1, guard=guard(context))
    history = tasks.history(str(found["task_id"]), limit=20)
    return task_text(found, {str(one["task_id"]): one for one in near}, history)
