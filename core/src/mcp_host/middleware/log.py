"""One line for every call: what it was, how it ended, how long it took."""

from __future__ import annotations

import asyncio
import logging
from time import perf_counter

from ..calls import Call, Next, Wire
from ..errors import ERROR_KEY, ProtocolError

logger = logging.getLogger("mcp_host.calls")


async def log(call: Call, following: Next) -> Wire:
    start = perf_counter()
    outcome = "cancelled"
    try:
        result = await following(call)
        outcome = _outcome(result)
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


def _outcome(result: Wire) -> str:
    if result.get("resultType") == "input_required":
        return "input_required"
    if not result.get("isError"):
        return "ok"
    return str(result.get("_meta", {}).get(ERROR_KEY, {}).get("code", "error"))


def _write(call: Call, outcome: str, milliseconds: float) -> None:
    logger.info(
        "%s %s: %s in %.1f ms",
        call.kind,
        call.name[:200],
        outcome,
        milliseconds,
        extra={"code": outcome, "ms": round(milliseconds, 3)},
    )
