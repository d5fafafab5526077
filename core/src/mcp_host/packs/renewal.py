"""What settings that were read again change: which packs are loaded anew, and which are not."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import McpHostError
from ..settings.loading import Settings
from ..settings.tables import HostTable, HttpTable
from ..startup.dataclass import dataclass
from .declared import Declared, Outcome

AT_ONCE = frozenset(
    (
        *("root", "timeout", "max_concurrency", "asking_timeout", "grace", "start_timeout"),
        *("retry_after", "max_answer_bytes", "token_budget", "expose", "always", "confirm"),
        "isolation",
    )
)
"""Keys of [host] that count without a restart."""
OF_THE_HOST = frozenset(
    (
        *("include", "exclude", "read_only", "timeout", "max_concurrency", "required", "shared"),
        *("tools", "trust_annotations"),
    )
)
"""Keys of [packs.X] that are the host's to heed: the pack stays open."""
OF_SEARCH = ("expose", "always", "token_budget")


class ReloadError(McpHostError):
    """Settings that were read again cannot be used, and nothing has changed; says why."""


@dataclass(frozen=True)
class Renewal:
    """What new settings change: packs by their names.

    `loaded` are those loaded anew, with what came of it, `relisted` those that stay open under
    other rules, and `gone` those that are served no more. `searches_anew` says that the host's own
    tools are others. `after_restart` are the keys that count only then.
    """

    settings: Settings
    loaded: Mapping[str, Outcome]
    relisted: Mapping[str, Declared]
    gone: tuple[str, ...]
    searches_anew: bool
    after_restart: tuple[str, ...]


def kept_keys(old: Settings, new: Settings) -> tuple[Settings, tuple[str, ...]]:
    """Return new settings with the keys of the old that need a restart, and what those are."""
    late = [key for key in HostTable.model_fields if key not in AT_ONCE]
    late = [key for key in late if getattr(old.host, key) != getattr(new.host, key)]
    host = new.host.model_copy(update={key: getattr(old.host, key) for key in late})
    said = [f"host.{key}" for key in late]
    changed = [
        key for key in HttpTable.model_fields if getattr(old.http, key) != getattr(new.http, key)
    ]
    http = old.http
    if http.is_authenticated and "auth" not in changed:
        # Whether tokens are wanted, and the prefixes of issuers, stay as they were at the start.
        http = http.model_copy(update={"tokens": new.http.tokens})
        changed = [key for key in changed if key != "tokens"]
    said += [f"http.{key}" for key in changed]
    return new.replace(host=host, http=http), tuple(said)
