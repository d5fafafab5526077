"""Tasks that begin at once: what they do before they first wait costs no turn of the loop."""

from __future__ import annotations

import asyncio
import contextvars
import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def start(
    work: Coroutine[Any, Any, T], context: contextvars.Context | None = None
) -> asyncio.Task[T]:
    """Make a task in the running loop, and run its work at once as far as it gets.

    As the eager start of Python 3.12. `context` is what the work runs in, a copy of the caller's
    unless given.
    """
    loop = asyncio.get_running_loop()
    if sys.version_info >= (3, 12):
        return asyncio.Task(work, loop=loop, context=context, eager_start=True)
    within = context or contextvars.copy_context()
    task, step = _unscheduled(work, loop, within)
    outer = asyncio.current_task(loop)
    if outer is not None:
        asyncio.tasks._leave_task(loop, outer)
    try:
        within.run(step)
    finally:
        if outer is not None:
            asyncio.tasks._enter_task(loop, outer)
    return task


def _unscheduled(
    work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop, context: contextvars.Context
) -> tuple[asyncio.Task[T], Callable[[], object]]:
    """Make a task whose first step is not scheduled, but returned.

    A task schedules it by `call_soon` of its loop while it is made; whatever else is scheduled in
    that moment, as by a finalizer, is scheduled afterwards.
    """
    scheduled: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = []
    loop.call_soon = lambda call, *given, **named: scheduled.append((call, given, named))  # type: ignore[method-assign, assignment]  # for this one call
    try:
        task = asyncio.Task(work, loop=loop, context=context)
    finally:
        del loop.call_soon
    if len(scheduled) == 1:
        return task, scheduled[0][0]
    steps = [one for one in scheduled if getattr(one[0], "__self__", None) is task]
    for call, given, named in scheduled:
        if (call, given, named) not in steps:
            loop.call_soon(call, *given, **named)
    return task, steps[0][0]
