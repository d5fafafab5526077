"""A call to a pack that is being opened waits for it; one to a failed pack hears why.

From here on a call stays with its pack as it is opened now, also where settings are read again.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import Unavailable
from ..packs.conditions import Condition
from ..runtime.lifecycle import Lifecycle
from .call import Call, Next, Result


class Opening:
    """`packs` are those that serve, by their names."""

    def __init__(self, packs: Mapping[str, Lifecycle]) -> None:
        self._packs = packs

    async def __call__(self, call: Call, following: Next) -> Result:
        pack = call.pack = self._packs[call.known.pack]
        pack.enter()
        try:
            if not pack.health.is_open:
                await wait_until_open(pack)
            return await following(call)
        finally:
            pack.leave()


async def wait_until_open(pack: Lifecycle) -> None:
    """Wait until a pack is open; `Unavailable` where it failed to be."""
    pack.begin()
    await pack.health.decided()
    if pack.health.is_replaced_unopened:
        raise Unavailable(
            f"The settings changed while the pack '{pack.name}' was being opened; call again",
            details={"reason": "settings_changed"},
        )
    condition = pack.health.condition
    if condition.state == "failed":
        raise unavailable(pack.name, condition)


def unavailable(pack: str, condition: Condition) -> Unavailable:
    """Make what a caller of a failed pack is told; retryable only where the host tries again."""
    error = Unavailable(
        f"The pack '{pack}' is not available: {condition.reason}",
        suggestions=[condition.remedy] if condition.remedy else (),
        details={"reason": condition.code},
    )
    error.retryable = condition.is_retried
    return error
