"""What was found of the conditions that tasks name, looked at while no write is under way."""

from typing import NamedTuple

from ..storage import Guard
from .plan import Plan


class Asked(NamedTuple):
    """A condition that a task names, to be looked at before the task is completed."""

    task_id: str
    task_name: str
    condition: str


class UnprovenError(Exception):
    """A write needs to know of conditions; it kept nothing, and is tried again with `asked`
    looked at."""

    def __init__(self, asked: list[Asked]) -> None:
        super().__init__(asked)
        self.asked = asked


class Proofs(dict[tuple[str, str], str | None]):
    """What is missing of conditions, by task and condition, or None where they hold."""

    def look(self, asked: list[Asked], plan: Plan, guard: Guard) -> None:
        """Look at conditions, one after the other; none is looked at twice in a call, whatever it
        does to its task."""
        for one in asked:
            key = (one.task_id, one.condition)
            if key not in self:
                task = {"TASKY_TASK_ID": one.task_id, "TASKY_TASK_NAME": one.task_name}
                self[key] = plan.conditions[one.condition].unmet(plan.folder, task, guard)
