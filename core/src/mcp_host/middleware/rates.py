"""How many calls a minute each caller may make."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from ..errors import Busy
from .call import Call, Next, Result

if TYPE_CHECKING:
    from limits.strategies import RateLimiter


class Rates:
    """Lets so many calls of each caller pass in any minute, and has the rest come later.

    A caller is the subject of a token, else a session; those without either are one. Until `limit`
    is called, nothing is counted, and it is not used.
    """

    def __init__(self) -> None:
        self._limiter: RateLimiter | None = None

    @property
    def is_used(self) -> bool:
        """Whether calls are counted."""
        return self._limiter is not None

    def limit(self, per_minute: int) -> None:
        """Count from now on; with the library of the extra."""
        from limits import RateLimitItemPerMinute
        from limits.storage import MemoryStorage
        from limits.strategies import SlidingWindowCounterRateLimiter

        self._limit = RateLimitItemPerMinute(per_minute)
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    async def __call__(self, call: Call, following: Next) -> Result:
        caller = call.context.caller.identity or "nobody"
        assert self._limiter is not None  # else it is not used
        if not self._limiter.hit(self._limit, caller):
            window = self._limiter.get_window_stats(self._limit, caller)
            raise Busy(
                f"You have made {self._limit.amount} calls in a minute, and [http.limits] "
                "calls_per_minute allows no more",
                details={
                    "reason": "too_many_calls_a_minute",
                    "retry_after": min(60, max(1, math.ceil(window.reset_time - time.time()))),
                },
            )
        return await following(call)
