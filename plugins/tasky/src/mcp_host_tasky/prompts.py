"""What a person can start: make a plan, or take the next task."""

from typing import TYPE_CHECKING, Annotated

from mcp_host import Context, prompt
from pydantic import Field

from .resources.markdown import row_text
from .tools import caller, guard

if TYPE_CHECKING:
    from .service import Service


@prompt(name="tasky-plan", title="Plan a goal")
def plan(
    service: "Service",
    /,
    goal: Annotated[str, Field(description="What should be reached")],
    context: Context,
) -> str:
    """Break a goal into tasks with their order, and keep them in the project."""
    name = service.public_name
    info = service.tasks().info(guard(context))
    return (
        f"Plan this goal for the project “{info['name']}”: {goal}\n\n"
        f"1. Look with {name('search_tasks')} for tasks that belong to it already.\n"
        "2. Break the rest into tasks of at most a day each, with a clear end. Give each a ref, "
        "the blockers that must be done before it, a priority (5 is the highest) and, where there "
        "is one, a due date.\n"
        f"3. Show me the plan, then make it with one call of {name('create_tasks')} "
        "(try dry_run first when it is large)."
    )


@prompt(name="tasky-next", title="Take the next task")
def next_task(service: "Service", /, context: Context) -> str:
    """Choose a task that can be begun, claim it, and do it."""
    name = service.public_name
    page = service.search(caller(service, context), guard(context), ready=True, limit=10)
    rows = "\n".join(row_text(row) for row in page.rows) or "Nothing is ready."
    return (
        f"These tasks are ready, the most urgent first ({page.total} in all):\n\n{rows}\n\n"
        "Choose the first that you can do. "
        f"Claim it with {name('edit_tasks')} (action claim), read it with {name('get_tasks')}, "
        "and do it. Renew the claim while you work. At the end complete the task, or release it "
        "with a note that says why."
    )
