"""All that is on its way out: what, what to use in its place, and the version that removes it.

A test fails once the host has that version and the entry still stands here.
"""

from __future__ import annotations

import warnings

from ..startup.dataclass import dataclass


@dataclass(frozen=True)
class Deprecation:
    """Something that still works: since which version it is deprecated, and when it goes."""

    what: str
    instead: str
    since: str
    removed_in: str

    def __str__(self) -> str:
        return (
            f"{self.what} is deprecated since mcp-host {self.since} and goes with "
            f"{self.removed_in}; {self.instead}"
        )

    def warn(self, where: str) -> None:
        """Say so by a `DeprecationWarning`; `where` names who uses it."""
        warnings.warn(f"{where}: {self}", DeprecationWarning, stacklevel=2)


SETTINGS_READ_ENVIRONMENT = Deprecation(
    "the attribute reads_environment of a settings model",
    "return Needs(reads_environment=…) from the hook mcp_host_needs",
    since="0.2",
    removed_in="0.4",
)

EVERY = (SETTINGS_READ_ENVIRONMENT,)
