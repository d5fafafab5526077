"""What every call does, told live to whoever follows the host: a page, or a terminal."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from time import perf_counter, time
from typing import Any, TypeAlias

from ..declarations.context import ClientChannel, Level
from ..errors import ProtocolError
from ..runtime.messages import Answered
from ..settings.secrets import Secrets
from .audit import NAME_LENGTH, called, shapes
from .call import AskLive, Call, Next, Result
from .outcomes import code_of

Event: TypeAlias = dict[str, Any]
Tell: TypeAlias = Callable[[Event], None]
LONGEST = 262_144
"""The most bytes of JSON that one value in an event may have."""


class Feed:
    """Tells its followers of every call as it goes: begun, progress, log, asked, ended.

    A follower hears the shapes of arguments and how calls ended; with `values` also arguments,
    messages and answers, secrets masked. While nobody follows, calls pass it by. All methods belong
    to the host's loop.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._followers: list[tuple[Tell, bool]] = []

    def follow(self, tell: Tell, *, values: bool) -> Callable[[], None]:
        """Call `tell` with every event, until the returned function is called."""
        follower = (tell, values)
        self._followers.append(follower)
        return lambda: self._followers.remove(follower)

    def concerns(self, call: Call) -> bool:
        return bool(self._followers)

    async def __call__(self, call: Call, following: Next) -> Result:
        told = _Told(self, call)
        told.begin()
        call.context.also_tell(told)
        if call.asking.ask is not None:
            call.asking = replace(call.asking, ask=told.asking(call.asking.ask))
        code, size, result = "", 0, None
        try:
            ended = await following(call)
            if isinstance(ended, Answered):
                code, size, result = ended.code, len(ended.body), ended.data
            else:
                code, result = "input_required", {"inputRequests": dict(ended.questions)}
            return ended
        except BaseException as error:
            code = code_of(error)
            if isinstance(error, ProtocolError):
                told_of = {"code": error.number, "message": str(error), "data": error.data}
                result = {"error": told_of}
            raise
        finally:
            told.end(code, size, result)

    def tell(self, event: Event, values: Mapping[str, Any] | None = None) -> None:
        """Tell all of an event; `values` only those who may know them."""
        whole: Event | None = None
        for tell, with_values in list(self._followers):
            if with_values and values and whole is None:
                whole = {**event, **{k: self._shown(v) for k, v in values.items()}}
            tell(whole if with_values and whole is not None else event)

    def _shown(self, value: Any) -> Any:
        masked = self._secrets.redact_data(value)
        size = len(json.dumps(masked, ensure_ascii=False, default=str).encode())
        return masked if size <= LONGEST else {"left_out": f"{size} bytes of JSON"}


class _Told(ClientChannel):
    """One call, as followers hear of it."""

    wants_progress = True

    def __init__(self, feed: Feed, call: Call) -> None:
        self._feed = feed
        self._call = call
        self._began = perf_counter()

    def begin(self) -> None:
        call = self._call
        caller, entry = call.context.caller, call.entry
        event = {
            "kind": call.kind,
            "name": called(call),
            "pack": entry.pack if entry is not None else None,
            "client": (caller.client or "")[:NAME_LENGTH] or None,
            "caller": caller.subject,
            "time": time(),
            "shapes": shapes(call),
        }
        values = {
            "arguments": dict(call.arguments),
            "target": call.name,
            "answers": dict(call.asking.answers),
        }
        self._say("began", event, values)

    def end(self, code: str, size: int, result: Mapping[str, Any] | None) -> None:
        ms = round(1000 * (perf_counter() - self._began), 3)
        self._say("ended", {"code": code, "ms": ms, "bytes": size}, {"result": result})

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        self._say("progress", {"done": done, "total": total}, {"message": message})

    def log(self, level: Level, data: Any, logger: str | None) -> None:
        self._say("log", {"level": level}, {"data": data, "logger": logger})

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self._say("notified", {"method": method}, {"params": params})

    def close_stream(self) -> None:
        self._say("stream_closed", {}, {})

    def asking(self, ask: AskLive) -> AskLive:
        """Tell of a question that the client is asked while the call waits, and of its answer."""

        async def told(question: Mapping[str, Any]) -> Mapping[str, Any]:
            self._say("asked", {"method": question.get("method")}, {"question": question})
            answer = await ask(question)
            self._say("answered", {"action": answer.get("action")}, {"answer": answer})
            return answer

        return told

    def _say(self, what: str, event: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        known = {"event": what, "id": self._call.context.request_id, **event}
        self._feed.tell(known, values)
