"""The counters of a plan beside its tasks."""

from collections.abc import Sequence
from typing import Any, Protocol

from ...model import Status


class View(Protocol):
    """What this room needs of a view of an SQL store."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...

    def counts(self) -> dict[Status, int]: ...

    def last_number(self) -> int: ...


def miscounted(view: View) -> list[str]:
    """Say which counters are not those of the tasks, as where rows were written past Tasky."""
    kept, last = view.counts(), view.last_number()
    met = dict(view.rows("SELECT status, count(*) FROM tasks GROUP BY status"))
    found = [
        f"The plan counts {kept[status]} tasks as {status.value}, and has {met.get(status, 0)}."
        for status in Status
        if kept[status] != met.get(status, 0)
    ]
    ((highest,),) = view.rows("SELECT coalesce(max(number), 0) FROM tasks")
    if highest > last:
        found.append(
            f"The plan counts its tasks up to number {last}, and has one with number {highest}: "
            "new tasks cannot be kept."
        )
    return [*found, "A copy counts anew: tasky backup."] if found else []
