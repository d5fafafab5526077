"""What every store can do. The service decides; a store only finds, keeps and forgets.

A store gives consistent views: a reading sees one moment of the plan, and a writing is alone,
sees what it wrote, and is kept whole when its block ends or not at all.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeAlias

from ..errors import UnavailableError
from ..model import Event, Found, Kept, Members, Status, Summary, Task, Wanted

# Called where work can still be given up: it raises when the caller no longer wants the answer.
Guard: TypeAlias = Callable[[], None]


# A count of matches ends here: to count on would take longer than to find.
COUNTED = 10_000
# So many tasks are looked at to count those of them that match: where few do, counting all would
# take longer than to find a page.
EXAMINED = 20_000
# After so many writes that follow each other the index of words is tidied: the next write waits for
# it, so not after each.
WRITES_TOGETHER = 32
# How long a shortened id may be: where one of a UUID's groups ends.
SHORT_IDS = (8, 13, 18, 23)


def no_guard() -> None:
    """The guard of a caller that waits as long as it takes."""


def read_only(path: Path, why: str) -> UnavailableError:
    return UnavailableError(
        f"{path} can be read but not written: {why}.",
        reason="store_read_only",
        suggestions=["Check the permissions of the file and of its folder."],
    )


def contradictory() -> UnavailableError:
    """What is told where a database refuses rows because of others that are there."""
    return UnavailableError(
        "The plan's rows contradict each other; nothing was changed.",
        reason="corrupt_store",
        suggestions=["Find out what is wrong with: tasky check"],
    )


@dataclass(slots=True)
class Changes:
    """All that one write keeps: tasks as (before, after), events, and answers to remember."""

    tasks: list[tuple[Task | None, Task | None]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    undone: dict[int, int] = field(default_factory=dict)
    kept: Sequence[Kept] = ()
    forget: Sequence[tuple[str, str]] = ()
    """Answers to forget: those whose name begins so, and that are older than this."""
    last_number: int = 0


class Reading(Protocol):
    """One moment of the plan. Ids that are not there are left out of every answer."""

    def now(self) -> datetime:
        """The moment by the store's clock, which all who share the plan share."""

    def ids_from(self, prefix: str, limit: int) -> list[str]: ...

    def past_ids_from(self, prefix: str, limit: int) -> list[str]:
        """Ids that begin so, of tasks that events tell of, whether they are still there or not."""

    def whole_ids(self, beginnings: Collection[str]) -> dict[str, str]:
        """The id of the task that alone begins so, for each beginning that one task alone has."""

    def short_ids(self, ids: Collection[str]) -> dict[str, str]:
        """The shortest beginning of each id that no other task has, of 8 characters or more."""

    def tasks(self, ids: Collection[str]) -> dict[str, Task]: ...

    def details(self, ids: Collection[str]) -> dict[str, str]: ...

    def waiting(self, ids: Collection[str]) -> dict[str, list[str]]:
        """The tasks that each of these blocks, in the order of their ids."""

    def first_waiting(self, ids: Collection[str], most: int) -> dict[str, Members]:
        """At most so many of the tasks that each of these blocks: thousands may wait for one."""

    def subtasks(self, ids: Collection[str]) -> dict[str, list[str]]: ...

    def first_subtasks(self, ids: Collection[str], most: int) -> dict[str, Members]:
        """At most so many of the parts of each of these."""

    def discovered(self, ids: Collection[str]) -> dict[str, list[str]]:
        """The tasks that were found during each of these, in the order of their ids."""

    def open_among(self, ids: Collection[str]) -> set[str]: ...

    def open_waiting(self, ids: Collection[str], limit: int) -> dict[str, list[str]]:
        """The open tasks that each of these blocks, at most `limit` in all."""

    def parents(self, ids: Collection[str]) -> dict[str, str | None]:
        """What each of these tasks is part of, and what that is part of, and so on to the top."""

    def upstream(self, ids: Collection[str], limit: int) -> dict[str, tuple[str, ...]]:
        """The blockers of these tasks, of their blockers, and so on, the nearest first: of all of
        these, and of no more than `limit` tasks where these are fewer. A task of which nothing is
        said was not looked at."""

    def downstream(self, ids: Collection[str], limit: int) -> dict[str, tuple[str, ...]]:
        """What waits for these tasks, for that, and so on, as `upstream` has their blockers."""

    def search(self, wanted: Wanted, after: str, limit: int, count: bool) -> Found:
        """The first `limit + 1` matches past the sort key `after`; with `count`, their total. Who
        needs the total alone says a limit of 0, and may get no match at all."""

    def most_unblocking(
        self, wanted: Wanted, after: tuple[int, str] | None, limit: int
    ) -> list[Summary]:
        """The first `limit` matches for which the most open tasks wait, past one with so many and
        that sort key; of those with equally many, in the order of every list. They come without
        their details, as more are looked at than are shown."""

    def counts(self) -> dict[Status, int]: ...

    def last_number(self) -> int: ...

    def last_event(self) -> int: ...

    def events(
        self, *, task_id: str | None = None, after: int = 0, before: int | None = None, limit: int
    ) -> list[Event]:
        """Events, the newest first."""

    def events_by_id(self, ids: Collection[int]) -> dict[int, Event]: ...

    def batch(self, batch: int) -> list[Event]:
        """The events of one call, in their order."""

    def last_batch(self, actor: str) -> int | None:
        """The newest batch that has something to undo, of the actor with this key."""

    def kept(self, key: str) -> Kept | None: ...

    def every_task(self, *, mends: bool = False) -> Iterator[Task]:
        """All tasks in the order of their creation; of damaged ones what can be read, if it mends,
        else `UnavailableError`."""

    def every_event(self, *, mends: bool = False) -> Iterator[Event]:
        """All events, the oldest first; damaged ones as `every_task` has them."""

    def every_kept(self) -> Iterator[Kept]:
        """All answers that are remembered."""


class Writing(Reading, Protocol):
    def apply(self, changes: Changes) -> None: ...


class Store(Protocol):
    """A plan's place. Safe to share between threads; other processes' writes are seen."""

    kind: str

    def read(self, guard: Guard = no_guard) -> AbstractContextManager[Reading]: ...

    def write(self, guard: Guard = no_guard) -> AbstractContextManager[Writing]: ...

    def tidy(self, *, is_pause: bool = True) -> bool:
        """Do a part of what may wait until nobody waits for an answer, and return whether more of
        it is left; little where `is_pause` is false, since somebody writes on."""

    def check(self) -> list[str]:
        """Say what is damaged in the store itself, one sentence each."""

    def copied_whole(self, path: Path) -> bool:
        """Copy the plan into a new SQLite file as it is, which is sooner done than task by task,
        and return whether that is a sound plan. Else there is no file: the store is of another
        kind, or damaged, and what is left of it is to be copied task by task."""

    def close(self) -> None: ...
