"""What a call must ask first is asked, in both protocol eras; then it runs.

The pack's side says what there is to ask. A client that can be asked while the call waits is; any
other gets the questions back, and calls again with the answers. The call holds no slot and its time
does not run while a person thinks; the wait has a limit of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import Cancelled
from ..runtime.messages import Asked
from .call import AskLive, Call, Next, Result


class Questions:
    """`limit` is how many seconds a person may take for one question."""

    def __init__(self, limit: float) -> None:
        self._limit = limit

    async def __call__(self, call: Call, following: Next) -> Result:
        result = await following(call)
        while isinstance(result, Asked) and call.asking.ask is not None:
            ask = call.asking.ask
            answers = {name: await self._ask(ask, q) for name, q in result.questions.items()}
            call.asking = replace(call.asking, answers=answers, state=result.state)
            result = await following(call)
        return result

    async def _ask(self, ask: AskLive, question: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            async with asyncio.timeout(self._limit):
                return await ask(question)
        except TimeoutError:
            raise Cancelled(
                f"Nobody answered within {self._limit:g} s", details={"reason": "no_answer"}
            ) from None
