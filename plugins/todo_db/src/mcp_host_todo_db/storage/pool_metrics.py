"""What the pools of connections are doing, by OpenTelemetry where the host measures itself.

The names are those of its conventions for clients of databases.
https://opentelemetry.io/docs/specs/semconv/database/database-metrics/
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter

METER = "mcp_host_todo_db"
COUNT, PENDING = "db.client.connection.count", "db.client.connection.pending_requests"
POOL, STATE = "db.client.connection.pool.name", "db.client.connection.state"


@dataclass(frozen=True, slots=True)
class PoolUse:
    """How many connections run a call, how many rest, and how many calls wait for one."""

    used: int
    idle: int
    waiting: int


class PoolMetrics:
    """Gauges of every pool that is open; each has a `place` and tells its `use`.

    They are made once in a process, by the first pool that opens after the host has set metrics up.
    """

    def __init__(self) -> None:
        self._pools: WeakSet[Any] = WeakSet()
        self._is_measured = False

    def add(self, pool: Any) -> None:
        """Measure this one too, until it is removed."""
        self._pools.add(pool)
        # A host that measures nothing does not load OpenTelemetry, and neither do we.
        if not self._is_measured and "opentelemetry.metrics" in sys.modules:
            from opentelemetry.metrics import get_meter

            self._is_measured = True
            self.measure(get_meter(METER))

    def remove(self, pool: Any) -> None:
        """Measure it no more."""
        self._pools.discard(pool)

    def measure(self, meter: Meter) -> None:
        """Make the gauges."""
        meter.create_observable_up_down_counter(
            COUNT,
            [self._counts],
            unit="{connection}",
            description="Connections of the pool that are used by a call, and that are idle.",
        )
        meter.create_observable_up_down_counter(
            PENDING,
            [self._pending],
            unit="{request}",
            description="Calls that wait for a connection of the pool.",
        )

    def _counts(self, _: Any) -> Iterable[Any]:
        from opentelemetry.metrics import Observation

        for pool in list(self._pools):
            use: PoolUse = pool.use
            yield Observation(use.used, {POOL: pool.place, STATE: "used"})
            yield Observation(use.idle, {POOL: pool.place, STATE: "idle"})

    def _pending(self, _: Any) -> Iterable[Any]:
        from opentelemetry.metrics import Observation

        for pool in list(self._pools):
            yield Observation(pool.use.waiting, {POOL: pool.place})


POOLS = PoolMetrics()
"""All pools of this process: OpenTelemetry has one meter for it as well."""
