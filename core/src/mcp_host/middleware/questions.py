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
            answers = await self._answers(call.asking.ask, result)
            call.asking = replace(call.asking, answers=answers, state=result.state)
            result = await following(call)
        return result

    async def _answers(self, ask: AskLive, asked: Asked) -> dict[str, Mapping[str, Any]]:
        """Ask everything, and return the answers; none where the questions are withdrawn."""
        if asked.withdrawn is None:
            return await self._ask_each(ask, asked.questions)
        asking = asyncio.ensure_future(self._ask_each(ask, asked.questions))
        withdrawn = asyncio.ensure_future(asked.withdrawn.wait())
        try:
            await asyncio.wait({asking, withdrawn}, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                return asking.result()
            asking.cancel()
            await asyncio.wait({asking})  # the client hears of it before the call goes on
            return {}
        finally:
            asking.cancel()
            withdrawn.cancel()

    async def _ask_each(
        self, ask: AskLive, questions: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, Mapping[str, Any]]:
        return {name: await self._ask(ask, each) for name, each in questions.items()}

    async def _ask(self, ask: AskLive, question: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            async with asyncio.timeout(self._limit):
                return await ask(question)
        except TimeoutError:
            raise Cancelled(
                f"Nobody answered within {self._limit:g} s", details={"reason": "no_answer"}
            ) from None
