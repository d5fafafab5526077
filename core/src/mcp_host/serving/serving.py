"""What is to be served, and as whom; and how its process ends."""

from __future__ import annotations

from ..startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..packs.declared import Offer
    from ..settings.loading import Settings
    from ..startup.handover import Handover
    from ..startup.options import TransportName
    from ..startup.saved import Saved, ServerIdentity

EXIT_OK, EXIT_ERROR, EXIT_REQUIRED_PACK = 0, 1, 3
PATIENCE = 5.0
"""Seconds that the end of the process may take beside what `grace` allows."""
SWITCH_INTERVAL = 0.0005
"""Seconds that a thread which computes may hold the interpreter while a client's answer is due."""


class Serving(Record):
    """One server that is to be; `version` is asked once the first answers are out.

    `identity` finds the saved catalogue; None does without. `alone` names the one pack of a
    stand-alone server, and `offers` where packs are without asking the metadata of all that is
    installed. `started` is the line that is written to standard error once requests can be taken.
    `variables` are the names of the environment that the command itself reads. `saved` is the saved
    catalogue where it was read already, and `before` what another process has begun to serve to the
    `connection`, by which packs know the client on standard input.
    `read_again` reads the settings while they are served; None where that cannot be. A server that
    `watches` heeds changes of its settings file.
    """

    name: str
    version: Callable[[], str]
    transport: TransportName = "stdio"
    alone: str | None = None
    title: str | None = None
    offers: Mapping[str, Sequence[Offer]] | None = None
    started: str | None = None
    identity: ServerIdentity | None = None
    variables: tuple[str, ...] = ()
    saved: Saved | None = None
    before: Handover | None = None
    connection: str = ""
    read_again: Callable[[], Settings] | None = None
    watches: bool = False


def failed(code: int, reason: str) -> int:
    """Say why the process ends, and return its exit code."""
    from . import logs

    logs.write(f"error: {reason}")  # the one clear line
    return code
