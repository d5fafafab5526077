"""Hands what answers cost to the account of each caller."""

from __future__ import annotations

from ..packs.usage import Usage
from .call import Call
from .outcomes import CallEnd


class UsageAccount:
    """Notes every answer that a client got, and whose."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage

    def __call__(self, call: Call, ended: CallEnd) -> None:
        entry, identity = call.entry, call.context.caller.identity
        if entry is None or identity is None or not ended.answer_bytes:
            return
        self._usage.note(
            identity, ended.answer_bytes, call.kind, call.name, entry.pack, ended.milliseconds
        )
