"""A plan, history included, as it comes into another store."""

from ..errors import ConflictError, UnavailableError
from ..storage.store import Changes, Reading, Store, Writing


def copied(source: Reading, target: Writing, *, mends: bool = False) -> int:
    """Copy all into an empty store; return how many tasks it has then. If it mends, what is damaged
    is copied as far as it can be read.

    One that holds the very same already, as where an earlier copy was kept and then cut off, is
    left as it is. Raises `ConflictError` for any other.
    """
    if target.last_event() or any(target.counts().values()):
        if not _is_same(source, target):
            raise ConflictError(
                "The other store is not empty.",
                reason="store_not_empty",
                suggestions=["Move what it holds to another place first, or remove it."],
            )
        return sum(target.counts().values())
    tasks = list(source.every_task(mends=mends))
    target.apply(
        Changes(
            tasks=[(None, task) for task in tasks],
            events=list(source.every_event(mends=mends)),
            last_number=source.last_number(),
        )
    )
    return len(tasks)


def copied_from(store: Store, copy: Store) -> tuple[int, bool]:
    """Copy all of a store into an empty one; return how many tasks that has, and whether all of
    each: what is damaged is copied as far as it can be read. A sound SQLite plan does not come
    here, as its file is copied."""
    if store.kind != "sqlite":
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
