"""Runs the steps of a call where they belong: in a thread, or on the pack's event loop."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from .messages import Reply
from .side import Step, Steps, failed

InThread = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Calls a function in one of the pack's threads."""


def drive(steps: Steps, mapping: Mapping[type[BaseException], str]) -> Reply:
    """Run a call whose functions are all plain, in this thread; raises nothing."""
    try:
        step = next(steps)
        while True:
            try:
                outcome = step.function(*step.given, **step.named)
            except BaseException as raised:
                step = steps.throw(raised)
            else:
                step = steps.send(outcome)
    except StopIteration as end:
        reply: Reply = end.value
        return reply
    except BaseException as raised:
        return failed(raised, mapping)


async def drive_on_loop(
    steps: Steps, mapping: Mapping[type[BaseException], str], in_thread: InThread
) -> Reply:
    """Run a call on the pack's loop, and its plain functions in a thread; raises nothing."""
    try:
        step = next(steps)
        while True:
            try:
                if step.is_async:
                    outcome = await step.function(*step.given, **step.named)
                else:
                    outcome = await run(step, in_thread)
            except BaseException as raised:
                step = steps.throw(raised)
            else:
                step = steps.send(outcome)
    except StopIteration as end:
        reply: Reply = end.value
        return reply
    except BaseException as raised:
        return failed(raised, mapping)


async def run(step: Step, in_thread: InThread) -> Any:
    """Run one step on the pack's loop, or in a thread where it is a plain function of the pack."""
    is_async = step.is_async
    if is_async is None:
        is_async = inspect.iscoroutinefunction(step.function)
    if is_async:
        return await step.function(*step.given, **step.named)
    return await in_thread(lambda: step.function(*step.given, **step.named))
