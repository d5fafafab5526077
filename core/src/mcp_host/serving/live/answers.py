"""What a running host shows to a program of its user."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from ...declarations.context import Caller
from ...host import LISTS_CHANGED, Host
from ...packs.entry import LISTS

WAITING = 8 * 1024 * 1024
"""Bytes that may wait for one program; events that come then are left out."""


def lists(host: Host) -> dict[str, Any]:
    """Return what a host lists to a caller of this machine, and how its packs are."""
    caller = Caller(client="mcp-host")
    source = host.settings.source
    return {
        "settings": None if source is None else str(source),
        "packs": host.report(),
        **{what: list(host.visible(what, caller)) for what in LISTS},
    }


async def follow(
    hosts: Sequence[Host],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    *,
    values: bool,
) -> None:
    """Write every event of these hosts as a line, until the other side is closed."""
    missed = 0

    def tell(event: dict[str, Any]) -> None:
        nonlocal missed
        if writer.transport.get_write_buffer_size() > WAITING:
            missed += 1
            return
        if missed:
            writer.write(_line({"event": "missed", "count": missed}))
            missed = 0
        writer.write(_line(event))

    def changed(what: str) -> None:
        is_lists = what == LISTS_CHANGED
        tell({"event": "lists_changed"} if is_lists else {"event": "changed", "uri": what})

    stops = [host.feed.follow(tell, values=values) for host in hosts]
    stops += [host.changes.listen(changed) for host in hosts]
    try:
        writer.write(_line({"event": "following", "hosts": len(hosts)}))
        await reader.read(1)  # nothing more is asked: this is the end
    finally:
        for stop in stops:
            stop()


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event, ensure_ascii=False, default=str).encode() + b"\n"
