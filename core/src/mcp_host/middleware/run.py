"""The end of the way: the pack's function, with what the host fills in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from pydantic_core import to_json

from ..calls import Call, Wire
from ..contributions import Resource
from ..running import Runtime


class Run:
    """`runtime` finds a pack by name."""

    def __init__(self, runtime: Callable[[str], Runtime]) -> None:
        self._runtime = runtime

    async def __call__(self, call: Call) -> Wire:
        assert call.entry is not None
        runtime = self._runtime(call.entry.pack)
        contribution = call.entry.contribution
        signature = contribution.signature
        named: dict[str, Any] = call.values
        if signature.context is not None:
            named = {**named, signature.context: call.context}
        given = (runtime.service,) if signature.service is not None else ()
        function = signature.function

        # The answer is made where the value is: a large one must not hold up the host's loop, and
        # what cannot be written as JSON is the pack's fault, not the transport's.
        def finish(value: Any) -> Wire:
            if isinstance(contribution, Resource):
                answer = contribution.answer(call.name, value)
            else:
                answer = contribution.answer(value)
            to_json(answer)
            return answer

        if signature.is_async:

            async def work() -> Wire:
                return finish(await function(*given, **named))

        else:

            def work() -> Wire:  # type: ignore[misc]  # the same, in a thread
                return finish(function(*given, **named))

        return cast(Wire, await runtime.run(work, taken_back=call.context.take_back))
