"""What was finished last stands first in lists of what is done, as far as events tell."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..model import Summary, Task, Wanted
from ..storage import Reading
from .page import Page
from .queries import foreign_cursor
from .requests import Search
from .views import row_view

LOOKED_AT = 300
"""So many of the last events are looked at."""
_MARK = "f"


class Place(NamedTuple):
    """Where a page of what was finished goes on: the last event that the first page knew, and where
    the plan's order goes on."""

    event: int
    cursor: str | None

    @classmethod
    def of(cls, cursor: str) -> "Place":
        event, _, rest = cursor.removeprefix(_MARK).partition(".")
        if not (cursor.startswith(_MARK) and event.isascii() and event.isdecimal()):
            raise foreign_cursor()
        return cls(int(event), rest or None)

    def __str__(self) -> str:
        return f"{_MARK}{self.event}.{self.cursor or ''}"


def last_finished(reading: Reading, wanted: Wanted, until: int) -> list[Summary]:
    """Return the tasks that became what is wanted in the last events up to this one and still are,
    the latest first."""
    events = reading.events(before=until + 1, limit=LOOKED_AT)
    ids = dict.fromkeys(
        event.task_id
        for event in events
        if "status" in event.changes and event.changes["status"].after == wanted.status
    )
    found = reading.tasks(ids)
    return [_summary(found[one]) for one in ids if one in found and _fits(found[one], wanted)]


def page_of_finished(
    asked: Search,
    place: Place,
    last: Sequence[Summary],
    limit: int,
    search: Callable[[Search], Page],
) -> Page:
    """Return the page at a place: what was finished `last`, on the first one, then the rest as
    `search` finds it."""
    rows = [] if asked.cursor else [row_view(row, ()) for row in last]
    known = {row.task_id for row in last}
    room = max(1, limit - len(rows))
    page = search(asked._replace(cursor=place.cursor, limit=room))
    if len(rows) < limit:
        rows += [row for row in page.rows if row["task_id"] not in known]
        while asked.cursor and page.next_cursor and len(rows) < limit:  # some were shown before
            page = search(asked._replace(cursor=page.next_cursor))
            rows += [row for row in page.rows if row["task_id"] not in known]
        place = Place(place.event, page.next_cursor)
        cursor = str(place) if page.next_cursor else None
    else:
        cursor = str(place) if page.has_more or page.total > limit else None
    return Page(rows, page.total, cursor, {}, page.has_more)


def _fits(task: Task, wanted: Wanted) -> bool:
    return (
        task.status is wanted.status
        and wanted.priority in (None, task.priority)
        and set(wanted.tags).issubset(task.tags)
    )


def _summary(task: Task) -> Summary:
    return Summary(
        task.task_id, task.name, task.status, task.priority, task.due_date, task.sort_key
    )
