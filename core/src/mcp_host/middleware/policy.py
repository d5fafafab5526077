"""What the settings and the caller's scopes allow, on every path into a pack."""

from __future__ import annotations

from ..packs.access import check
from .call import Call, Next, Result


async def policy(call: Call, following: Next) -> Result:
    if call.entry is not None:
        check(call.entry, call.context.caller)
    return await following(call)
