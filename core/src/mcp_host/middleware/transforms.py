"""Gives a tool the arguments that the settings set, and refuses those that they hide."""

from __future__ import annotations

from .call import Call, Next, Result


async def transforms(call: Call, following: Next) -> Result:
    transform = call.known.transform
    if transform is not None:
        call.arguments = transform.arguments(call.arguments)
    return await following(call)
