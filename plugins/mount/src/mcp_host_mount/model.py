"""What a worker knows of its mounted server: its settings, and what the server has said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

HANDSHAKE = "2025-11-25"
STATELESS = "2026-07-28"
ASKING = {"sampling": "sampling/createMessage", "roots": "roots/list"}


@dataclass(frozen=True)
class Mount:
    """One mounted server as the host tells of it: the keys of its table, and the host's own.

    `environment` is what every program gets. `asking_timeout` and `start_timeout` are seconds.
    """

    pack: str
    keys: Mapping[str, Any]
    folder: str
    root: str | None
    prefix: str
    environment: Mapping[str, str]
    asking_timeout: float
    start_timeout: float
    is_apart: bool

    @classmethod
    def of(cls, told: Mapping[str, Any], folder: str) -> Mount:
        """Return what the host's first message says."""
        table = told.get("table", {})
        pack = str(told["declare"])
        prefix = table.get("prefix")
        return cls(
            pack=pack,
            keys=told["worker_keys"],
            folder=folder,
            root=told.get("root"),
            prefix=(pack if prefix is None else prefix) if told.get("prefixed", True) else "",
            environment=told.get("environment", {}),
            asking_timeout=told.get("asking_timeout", 300.0),
            start_timeout=told.get("start_timeout", 10.0),
            is_apart=table.get("sessions") == "apart",
        )

    @property
    def allow(self) -> frozenset[str]:
        """What the server may ask of clients, beside questions to a person."""
        return frozenset(self.keys.get("allow", ()))

    @property
    def capabilities(self) -> dict[str, Any]:
        """What the server is told that it may ask; it does not depend on who calls."""
        return {
            "elicitation": {"form": {}, "url": {}},
            **{name: {} for name in sorted(self.allow)},
        }


@dataclass(frozen=True)
class Greeting:
    """How a server has introduced itself, in the protocol's version that was agreed."""

    version: str
    info: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    instructions: str = ""

    @property
    def is_stateless(self) -> bool:
        """Whether every request carries its own envelope, and questions are results."""
        return self.version >= STATELESS
