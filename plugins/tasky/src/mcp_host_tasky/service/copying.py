"""A plan, history included, as it comes into another store."""

from ..errors import ConflictError
from ..storage.store import Changes, Reading, Writing


def copied(source: Reading, target: Writing) -> int:
    """Copy all into an empty store; return how many tasks it has then.

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
    tasks = list(source.every_task())
    target.apply(
        Changes(
            tasks=[(None, task) for task in tasks],
            events=list(source.every_event()),
            last_number=source.last_number(),
        )
    )
    return len(tasks)


def _is_same(one: Reading, other: Reading) -> bool:
    return (
        one.counts() == other.counts()
        and one.last_event() == other.last_event()
        and list(one.every_event()) == list(other.every_event())
        and list(one.every_task()) == list(other.every_task())
    )
