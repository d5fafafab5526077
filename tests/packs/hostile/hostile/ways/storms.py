"""What a pack says without a pause."""

import itertools
import logging
import threading
from collections.abc import AsyncIterator, Callable

from mcp_host import Context, PackHandle

from hostile.registry import in_call, while_opening

Opening = AsyncIterator[None]


def _without_a_pause(say: Callable[[int], object]) -> None:
    def storm() -> None:
        for number in itertools.count():
            say(number)

    threading.Thread(target=storm, daemon=True).start()


@while_opening()
async def of_changes(pack: PackHandle) -> Opening:
    """Says without a pause that a resource changed, another one each time."""
    _without_a_pause(lambda number: pack.changed(f"hostile://{number}"))
    yield


@while_opening()
async def of_long_changes(pack: PackHandle) -> Opening:
    """Says without a pause that a resource changed whose URI has 100 kB."""
    _without_a_pause(lambda number: pack.changed(f"hostile://{number}/" + "x" * 100_000))
    yield


@while_opening()
async def of_lists(pack: PackHandle) -> Opening:
    """Says without a pause that its lists changed."""
    _without_a_pause(lambda number: pack.lists_changed())
    yield


@while_opening()
async def of_conditions(pack: PackHandle) -> Opening:
    """Says without a pause that it is degraded, for another reason each time, and recovered."""

    def say(number: int) -> None:
        pack.degraded(f"reason {number}")
        pack.recovered()

    _without_a_pause(say)
    yield


@while_opening()
async def of_everything_from_ten_threads(pack: PackHandle) -> Opening:
    """Says all of this in ten threads at once."""

    def say(number: int) -> None:
        pack.changed(f"hostile://{number}")
        pack.lists_changed()
        pack.degraded(f"reason {number}")

    for _ in range(10):
        _without_a_pause(say)
    yield


@while_opening()
async def of_log_lines(pack: PackHandle) -> Opening:
    """Logs without a pause."""
    log = logging.getLogger("hostile.storm")
    _without_a_pause(lambda number: log.error("line %s", number))
    yield


@while_opening()
async def of_prints(pack: PackHandle) -> Opening:
    """Prints without a pause."""
    _without_a_pause(lambda number: print("line", number))
    yield


@in_call()
def of_progress(context: Context) -> None:
    """Tells of progress without a pause."""
    for number in itertools.count():
        context.progress(number, message="on")


@in_call()
def of_messages(context: Context) -> None:
    """Logs to its client without a pause."""
    while True:
        context.log("error", "x" * 100)


@in_call()
def of_huge_messages(context: Context) -> None:
    """Logs texts of 5 MB to its client without a pause."""
    text = "x" * 5_000_000
    while True:
        context.log("error", text)


@in_call()
def of_changes_in_a_call(context: Context) -> None:
    """Says in a call without a pause that resources changed."""
    for number in itertools.count():
        context.changed(f"hostile://{number}")


@in_call()
def of_messages_without_end(context: Context) -> str:
    """Logs an iterator without an end, and an object that waits when it is read."""
    context.log("error", itertools.count())
    context.log("error", {"endless": itertools.repeat("x")})
    return "done"


@in_call()
def of_odd_progress(context: Context) -> str:
    """Tells of progress that is no number, infinite, huge and backwards."""
    for done in ("much", float("nan"), float("inf"), 10**400, -5, None, [1]):
        try:
            context.progress(done, message=7)  # type: ignore[arg-type]
        except Exception as error:
            print(error)
    return "done"


@in_call(times=40)
def of_calls(context: Context) -> None:
    """Tells of progress and logs without a pause, in 40 calls at once."""
    for number in itertools.count():
        context.progress(number)
        context.log("info", "on")
