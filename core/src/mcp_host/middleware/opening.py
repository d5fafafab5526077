"""A call to a pack that is being opened waits for it; one to a failed pack hears why."""

from __future__ import annotations

from collections.abc import Callable

from ..calls import Call, Next, Wire
from ..conditions import Condition
from ..errors import Unavailable
from ..running import Runtime


class Opening:
    """`runtime` finds a pack by name."""

    def __init__(self, runtime: Callable[[str], Runtime]) -> None:
        self._runtime = runtime

    async def __call__(self, call: Call, following: Next) -> Wire:
        assert call.entry is not None  # validation lets nothing else pass
        await opened(self._runtime(call.entry.pack))
        return await following(call)


async def opened(runtime: Runtime) -> None:
    """Wait until a pack is open; `Unavailable` where it failed to be."""
    await runtime.decided()
    condition = runtime.condition
    if condition.state == "failed":
        raise unavailable(runtime.name, condition)


def unavailable(pack: str, condition: Condition) -> Unavailable:
    """What a caller of a failed pack is told."""
    return Unavailable(
        f"The pack '{pack}' is not available: {condition.reason}",
        suggestions=[condition.remedy] if condition.remedy else (),
        details={"reason": condition.code},
    )
