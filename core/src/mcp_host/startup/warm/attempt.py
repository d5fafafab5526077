"""Whether a session is served by the warm host; if it is, this process becomes its front."""

from __future__ import annotations

import os
import sys

from .. import saved
from ..handover import Handover
from ..options import Options
from ..records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..options import Given
    from ..saved import Saved, ServerIdentity

VARIABLE = "MCP_HOST_WARM"
REFUSAL = "alone"
"""The file that tells why a session was last served alone, although it was to be warm."""


class OwnStart(Record):
    """What is known once this process is to serve: the saved catalogue, what came before, and by
    which name packs know the client's link; none where they know of no link yet."""

    saved: Saved | None = None
    before: Handover | None = None
    connection: str = ""


def attempt(
    server: str,
    given: Given,
    identity: ServerIdentity | None,
    source: str | None = None,
    digest: str | None = None,
) -> OwnStart:
    """Have the warm host serve where that is wanted and can be; then the process ends here.

    `server` is what the host looks up, as `module:name`, to serve the same; empty where it cannot.
    `source` is the settings file, whose trusted content has the `digest`.
    """
    if sys.platform != "linux" or identity is None or not server or _is_wanted(given) is False:
        return OwnStart()
    found = saved.look(identity)
    if not (_is_wanted(given) or found.is_warm):
        return OwnStart(found.opened())
    from .place import note

    if not found.is_good:
        note(REFUSAL, f"no saved catalogue could be used: {found.refusal}")
        return OwnStart(found.opened())
    from .front import Front, ServeAlone
    from .wire import Request

    request = Request(
        server=server,
        options={name: getattr(given, name) for name in Options.__fields__},
        source=source,
        digest=digest,
        folder=os.getcwd(),
        environment=dict(os.environ),
        identity=(identity.program, source, identity.root, identity.profile),
        connection=os.urandom(16).hex(),
    )
    front = Front(request, identity, found)
    try:
        front.run()
    except ServeAlone as why:
        note(REFUSAL, str(why))
    return OwnStart(found.opened(), front.before, request.connection)


def _is_wanted(given: Given) -> bool | None:
    """What the command line says, or else the environment; None where the settings are to say."""
    if given.warm is not None or given.transport != "stdio":
        return bool(given.warm) and given.transport == "stdio"
    return {"1": True, "0": False}.get(os.environ.get(VARIABLE, ""))
