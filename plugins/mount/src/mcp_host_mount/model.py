"""What a worker knows of its mounted server: its settings, and what the server has said."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

HANDSHAKE = "2025-11-25"
STATELESS = "2026-07-28"
KINDS = ("command", "url", "server")
"""The keys of a mount, one of which names its server."""
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
    def where(self) -> str:
        """What in the settings names the server."""
        return f"{next(key for key in KINDS if key in self.keys)} in [packs.{self.pack}]"

    @cached_property
    def allow(self) -> frozenset[str]:
        """What the server may ask of clients, beside questions to a person."""
        return frozenset(self.keys.get("allow", ()))

    @property
    def wants_session(self) -> bool:
        """Whether its server is to know one client's requests from another's by a session."""
        return self.is_apart and "url" in self.keys

    def allows(self, needs: str | None) -> bool:
        """Whether the server may ask what needs this of a client."""
        return needs is not None and (needs.startswith("elicitation") or needs in self.allow)

    @property
    def capabilities(self) -> dict[str, Any]:
        """What the server is told that it may ask; it does not depend on who calls."""
        return self.capabilities_for(None)

    def capabilities_for(self, offers: Collection[str] | None) -> dict[str, Any]:
        """Return what of it a client can be asked that offers this; None is one that offers all."""
        modes: dict[str, Any] = {
            mode: {}
            for mode, name in (("form", "elicitation"), ("url", "elicitation.url"))
            if offers is None or name in offers
        }
        return {
            **({"elicitation": modes} if modes else {}),
            **{name: {} for name in sorted(self.allow) if offers is None or name in offers},
        }


def needed(method: str, params: Mapping[str, Any]) -> str | None:
    """Return what a client must offer to be asked this; None where nobody can be."""
    if method == "elicitation/create":
        return "elicitation.url" if params.get("mode") == "url" else "elicitation"
    return {"sampling/createMessage": "sampling", "roots/list": "roots"}.get(method)


def is_sound(method: str, params: Mapping[str, Any]) -> bool:
    """Whether a question has what the protocol wants of it, without which no client is asked."""
    if method == "elicitation/create":
        is_url = params.get("mode") == "url"
        asked = params.get("url" if is_url else "requestedSchema")
        return isinstance(params.get("message"), str) and isinstance(asked, str if is_url else dict)
    if method == "sampling/createMessage":
        return isinstance(params.get("messages"), list) and isinstance(params.get("maxTokens"), int)
    return True


def question(pack: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a client is asked; a question to a person names the pack."""
    if method == "elicitation/create" and isinstance(params.get("message"), str):
        params = {**params, "message": f"{pack}: {params['message']}"}
    return {"method": method, "params": params} if params else {"method": method}


@dataclass(frozen=True)
class Greeting:
    """How a server has introduced itself, in the protocol's version that was agreed."""

    version: str
    info: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    instructions: str = ""

    @cached_property
    def is_stateless(self) -> bool:
        """Whether every request carries its own envelope, and questions are results."""
        return self.version >= STATELESS
