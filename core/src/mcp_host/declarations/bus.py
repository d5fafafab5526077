"""What carries notices of changes from one process to others that serve the same packs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias


class Bus(Protocol):
    """Carries notices between processes; what `mcp_host_bus` opens yields one.

    Its two methods are those of the SDK's `SubscriptionBus`, for texts of the host that mean
    nothing to it: each of at most 4,224 bytes.
    """

    async def publish(self, notices: Sequence[str]) -> None:
        """Tell the other processes; called no more often than every 100 ms, never twice at once.

        It may wait until it can, and what changes meanwhile waits with it. What it raises is
        logged, and these notices are lost.
        """

    def subscribe(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Call a function with each notice of another process; return what ends that.

        The function may be called in any thread, and raises nothing. A process that hears its own
        notices as well does no harm.
        """


OpenBus: TypeAlias = Callable[[], AbstractAsyncContextManager[Bus]]
"""Opens a bus; called on the pack's loop before the service is opened."""
