"""Values that a pack proposes for an argument of a prompt or of a template of resources."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping
from typing import Any

from ..declarations.context import Caller
from ..declarations.resource import Resource
from ..errors import INVALID_PARAMS, CallError, ProtocolError, TimedOut, as_protocol_error
from ..middleware.opening import wait_until_open
from ..packs.access import allows
from ..packs.catalog import Catalog
from ..packs.entry import Entry
from ..packs.inventory import Inventory
from ..runtime.lifecycle import Lifecycle
from ..runtime.messages import ProposalsMessage, Proposed
from ..runtime.side import as_call_error

log = logging.getLogger("mcp_host")

LIMIT = 100
"""The most values that are proposed at once."""
TIMEOUT = 5.0
"""Seconds that a pack has for them, its opening included."""


class Completion:
    """Asks packs for values; `running` are the lifecycles of those that serve, by their names."""

    def __init__(self, inventory: Inventory, running: Mapping[str, Lifecycle]) -> None:
        self._inventory = inventory
        self._running = running

    async def complete(
        self,
        ref: Mapping[str, Any],
        argument: str,
        value: str,
        given: Mapping[str, str],
        caller: Caller,
    ) -> dict[str, Any]:
        """Propose values for an argument of a prompt (`ref.name`) or a template (`ref.uri`).

        `value` is what has been typed of it, `given` what the other arguments have. Returns a
        `CompleteResult` of the protocol; raises `ProtocolError`.
        """
        entry = _referred(self._inventory.catalog, ref, caller)
        if entry is None or not allows(entry, caller):
            what = ref.get("name") or ref.get("uri")
            raise ProtocolError(INVALID_PARAMS, f"Unknown reference: {str(what)[:200]}")
        proposed = Proposed((), 0)
        if argument in entry.contribution.signature.proposals:
            proposed = await self._proposed(entry, argument, value, given)
        return {
            "completion": {
                "values": list(proposed.values),
                "total": proposed.total,
                "hasMore": proposed.total > len(proposed.values),
            }
        }

    async def _proposed(
        self, entry: Entry, argument: str, value: str, given: Mapping[str, str]
    ) -> Proposed:
        is_resource = isinstance(entry.contribution, Resource)
        message = ProposalsMessage(
            kind="resource" if is_resource else "prompt",
            key=entry.target,
            argument=argument,
            value=value,
            given=given,
            limit=LIMIT,
        )
        pack = self._running[entry.pack]
        error: CallError
        try:
            async with asyncio.timeout(TIMEOUT):
                await wait_until_open(pack)
                reply = await pack.worker.propose(message)
            if isinstance(reply, Proposed):
                return reply
            error = as_call_error(reply)
            said = (reply.traceback.strip() or reply.message).rpartition("\n")[2]
            trace = {"traceback": reply.traceback}
            log.warning("completion of %s failed: %s", entry.name, said, extra=trace)
        except TimeoutError:
            error = TimedOut(f"The proposals took longer than {TIMEOUT:g} s")
        except CallError as raised:
            error = raised
        secrets = self._inventory.settings.secrets
        envelope = secrets.redact_data(error.envelope(str(uuid.uuid4())))
        raise as_protocol_error(error, envelope) from None


def _referred(catalog: Catalog, ref: Mapping[str, Any], caller: Caller) -> Entry | None:
    """The prompt, template or resource that a reference of the protocol names."""
    if ref.get("type") == "ref/prompt":
        return catalog.find("prompts", str(ref.get("name")), caller)
    uri = str(ref.get("uri"))
    return catalog.template(uri, caller) or catalog.find("resources", uri, caller)
