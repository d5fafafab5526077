"""One line for every call: what it was, how it ended, how long it took."""

from __future__ import annotations

import asyncio
import logging
from time import perf_counter

from ..errors import ProtocolError
from ..runtime.messages import Answered
from .call import Call, Next, Result

logger = logging.getLogger("mcp_host.calls")


async def log(call: Call, following: Next) -> Result:
    start = perf_counter()
    outcome = "cancelled"
    try:
        result = await following(call)
        outcome = result.code if isinstance(result, Answered) else "input_required"
        return result
    except ProtocolError as error:
        outcome = str((error.data or {}).get("code", error.number))
        raise
    except asyncio.CancelledError:
        raise
    except BaseException:
        outcome = "internal_error"
        raise
    finally:
        if logger.isEnabledFor(logging.INFO):
            milliseconds = 1000 * (perf_counter() - start)
            # In the loop's next turn: the answer goes out first.
            asyncio.get_running_loop().call_soon(_write, call, outcome, milliseconds)


def _write(call: Call, outcome: str, milliseconds: float) -> None:
    logger.info(
        "%s %s: %s in %.1f ms",
        call.kind,
        call.name[:200],
        outcome,
        milliseconds,
        extra={"code": outcome, "ms": round(milliseconds, 3)},
    )
