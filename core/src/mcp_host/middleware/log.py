"""One line for every call: what it was, how it ended, how long it took."""

from __future__ import annotations

import logging

from .call import Call
from .outcomes import CallEnd

logger = logging.getLogger("mcp_host.calls")


def log(call: Call, ended: CallEnd) -> None:
    """Write the line, at the level `info`."""
    logger.info(
        "%s %s: %s in %.1f ms",
        call.kind,
        call.name[:200],
        ended.code,
        ended.milliseconds,
        extra={"code": ended.code, "ms": round(ended.milliseconds, 3)},
    )
