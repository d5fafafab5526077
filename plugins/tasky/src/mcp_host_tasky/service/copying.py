"""A plan, with its history and the answers that it remembers, as it comes into another store."""

from contextlib import closing
from pathlib import Path

from ..errors import ConflictError, UnavailableError
from ..storage import Changes, Location, Reading, Store, Writing, open_store


def copied(source: Reading, target: Writing, *, mends: bool = False) -> int:
    """Copy all into an empty store; return how many tasks it has then. If it mends, what is damaged
    is copied as far as it can be read, and no answers.

    One that holds the very same already, as where an earlier copy was kept and then cut off, is
    left as it is. Raises `ConflictError` for any other.
    """
    if target.last_event() or any(target.counts().values()):
        if not _is_same(source, target):
            raise ConflictError(
                "The other store is not empty.",
                reason="store_not_empty",
                suggestions=[
                    "Move what it holds to another place first, or remove it: a move that was cut "
                    "off, and an earlier one, leave a copy there."
                ],
            )
        return sum(target.counts().values())
    tasks = list(source.every_task(mends=mends))
    target.apply(
        Changes(
            tasks=[(None, task) for task in tasks],
            events=list(source.every_event(mends=mends)),
            kept=() if mends else list(source.every_kept()),
            last_number=source.last_number(),
        )
    )
    return len(tasks)


def backed_up(store: Store, file: Path) -> tuple[int, bool]:
    """Copy all of a store, as it is at one moment, into a new SQLite file; return how many tasks
    that has, and whether all of each: what is damaged is copied as far as it can be read."""
    is_whole = store.copied_whole(file)
    with closing(open_store(Location("sqlite", file))) as copy:
        if is_whole:
            with copy.read() as reading:
                return sum(reading.counts().values()), True
        return _copied_by_task(store, copy)


def _copied_by_task(store: Store, copy: Store) -> tuple[int, bool]:
    if store.kind != "sqlite":  # else it is damaged: a sound file is copied as it is
        try:
            with store.read() as source, copy.write() as target:
                return copied(source, target), True
        except UnavailableError as error:
            if error.reason != "corrupt_store":
                raise
    with store.read() as source, copy.write() as target:
        return copied(source, target, mends=True), False


def _is_same(one: Reading, other: Reading) -> bool:
    return (
        one.counts() == other.counts()
        and one.last_event() == other.last_event()
        and list(one.every_event()) == list(other.every_event())
        and list(one.every_task()) == list(other.every_task())
    )
