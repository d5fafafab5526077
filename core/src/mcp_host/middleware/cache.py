"""Answers of reading tools that the settings want kept for some seconds, to each caller its own."""

from __future__ import annotations

import json
import time
from collections import Counter, OrderedDict
from typing import NamedTuple, TypeAlias

from ..declarations.tool import Tool
from ..runtime.messages import Answered
from .call import Call, Next, Result

MOST_BYTES = 16 * 1024 * 1024
"""Of all answers that are kept; those not used for longest go first."""

CacheKey: TypeAlias = tuple[str, str, str]
"""The tool, its caller, and the arguments."""


class _Kept(NamedTuple):
    answer: Answered
    request_id: str
    until: float
    pack: str


class Cache:
    """Keeps good answers as long as `cache` of the tool's settings says.

    A call of a tool that writes ends what is kept of its pack, as does whatever the pack says has
    changed. A caller whom nothing tells from others gets nothing that was kept. `is_used` says
    whether the settings want anything kept.
    """

    def __init__(self) -> None:
        self.is_used = True
        self._kept: OrderedDict[CacheKey, _Kept] = OrderedDict()
        self._bytes = 0
        self._changes: Counter[str] = Counter()

    def concerns(self, call: Call) -> bool:
        """Whether anything may be kept of the call, or must be forgotten for it."""
        return isinstance(call.known.contribution, Tool)

    async def __call__(self, call: Call, following: Next) -> Result:
        contribution = call.known.contribution
        assert isinstance(contribution, Tool)
        if not contribution.read_only:
            call.at_once = None  # its client must not read on before all is forgotten
            try:
                return await following(call)
            finally:
                self.forget(call.known.pack)
        transform, caller = call.known.transform, call.context.caller.identity
        if transform is None or not transform.cached or caller is None:
            return await following(call)
        arguments = json.dumps(call.arguments, sort_keys=True, default=str)
        key = (call.known.name, caller, arguments)
        kept = self._found(key)
        if kept is not None:
            return _for_request(kept, call.context.request_id)
        pack, until = call.known.pack, time.monotonic() + transform.cached
        before = self._changes[pack]
        result = await following(call)
        is_current = before == self._changes[pack]  # nothing was written while it was read
        if is_current and isinstance(result, Answered) and result.code == "ok":
            self._keep(key, _Kept(result, call.context.request_id, until, pack))
        return result

    def forget(self, pack: str) -> None:
        """Keep nothing of a pack any more, nor what is being read now."""
        self._changes[pack] += 1
        for key in [key for key, kept in self._kept.items() if kept.pack == pack]:
            self._drop(key)

    def _found(self, key: CacheKey) -> _Kept | None:
        kept = self._kept.get(key)
        if kept is None:
            return None
        if kept.until <= time.monotonic():
            self._drop(key)
            return None
        self._kept.move_to_end(key)
        return kept

    def _keep(self, key: CacheKey, kept: _Kept) -> None:
        if key in self._kept:
            self._drop(key)
        self._kept[key] = kept
        self._bytes += len(kept.answer.body)
        while self._bytes > MOST_BYTES:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: CacheKey) -> None:
        self._bytes -= len(self._kept.pop(key).answer.body)


def _for_request(kept: _Kept, request_id: str) -> Answered:
    """The answer with this request's id: its `_meta` stands at the end of the body."""
    head, found, tail = kept.answer.body.rpartition(kept.request_id.encode())
    body = head + (request_id.encode() if found else b"") + tail
    return Answered(body, kept.answer.code, kept.answer.is_wire)
