"""Gives a tool the arguments that the settings set, and refuses those that they hide."""

from __future__ import annotations

from collections.abc import Awaitable

from .call import Call, Next, Result


def transforms(call: Call, following: Next) -> Awaitable[Result]:
    transform = call.known.transform
    if transform is not None:
        call.arguments = transform.arguments(call.arguments)
    return following(call)
