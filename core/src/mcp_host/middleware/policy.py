"""What the settings and the caller's scopes allow, on every path into a pack."""

from __future__ import annotations

from collections.abc import Awaitable

from ..packs.access import check
from .call import Call, Next, Result


def policy(call: Call, following: Next) -> Awaitable[Result]:
    if call.entry is not None:
        check(call.entry, call.context.caller)
    return following(call)
