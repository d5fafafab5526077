"""What a host measures of itself by OpenTelemetry, and how Prometheus reads it."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..errors import SettingsError
from ..host import Host
from ..middleware.call import Call
from ..middleware.outcomes import CallEnd
from ..startup.version import VERSION
from .telemetry import BUCKETS, PACK

if TYPE_CHECKING:
    from ..settings.tables import HttpTable

DURATION = "mcp_host.call.duration"
RUNNING, WAITING = "mcp_host.calls.running", "mcp_host.calls.waiting"
STATE = "mcp_host.pack.state"
LOCAL = "127.0.0.1"


def check(http: HttpTable) -> None:
    """Raise `SettingsError` where metrics are wanted and their exporter is not installed."""
    if http.metrics and find_spec("prometheus_client") is None:
        raise SettingsError(
            'http.metrics: this needs what is not installed: pip install "mcp-host[metrics]"'
        )


class Metrics:
    """Measures a host: how long its calls take and how they end, what waits, how its packs are.

    Clients choose none of the values that it tells things apart by: their number is bounded.
    """

    def __init__(self, host: Host) -> None:
        from opentelemetry import metrics

        self._host = host
        meter = metrics.get_meter("mcp_host", VERSION)
        self._duration = meter.create_histogram(
            DURATION,
            unit="s",
            description="How long a call took, from its receipt to its answer.",
            explicit_bucket_boundaries_advisory=BUCKETS,
        )
        for name, callback, description in (
            (RUNNING, self._running, "Calls that have a place now."),
            (WAITING, self._waiting, "Calls that wait for a place."),
            (STATE, self._states, "1 for the state that a pack is in."),
        ):
            meter.create_observable_gauge(name, [callback], description=description)
        host.keep_account(self._ended)

    def _ended(self, call: Call, ended: CallEnd) -> None:
        told = {"kind": call.kind, "code": ended.code}
        if call.entry is not None:
            told |= {"name": call.entry.name, PACK: call.entry.pack}
        self._duration.record(ended.milliseconds / 1000, told)

    def _running(self, _: Any) -> Iterable[Any]:
        return [_observed(running, pack) for pack, running, _ in self._host.places()]

    def _waiting(self, _: Any) -> Iterable[Any]:
        return [_observed(waiting, pack) for pack, _, waiting in self._host.places()]

    def _states(self, _: Any) -> Iterable[Any]:
        return [
            _observed(1, report["name"], state=report["state"]) for report in self._host.report()
        ]


def serve_beside(port: int) -> int:
    """Let Prometheus read, without a token, at a port of this machine alone; return the port."""
    from prometheus_client import start_http_server

    try:
        server, _ = start_http_server(port, LOCAL)
    except OSError as error:
        raise SettingsError(f"http.metrics_port: cannot listen on {port}: {error}") from None
    return int(server.server_port)


def as_text() -> tuple[bytes, str]:
    """Everything as Prometheus reads it, and the type of that; in any thread."""
    from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

    return generate_latest(), CONTENT_TYPE_LATEST


def _observed(value: int, pack: str, **told: str) -> Any:
    from opentelemetry.metrics import Observation

    return Observation(value, {PACK: pack, **told})
