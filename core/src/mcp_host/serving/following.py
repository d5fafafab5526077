"""What clients follow of extensions by `subscriptions/listen`: states of what they name."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import mcp_types as types
from mcp.server.subscriptions import SUBSCRIPTION_ID_META_KEY

from ..declarations.context import Caller
from ..declarations.extension import Subscriptions
from ..errors import EXTENSIONS, INVALID_PARAMS, McpHostError, MissingCapability, ProtocolError
from ..host import Host
from ..middleware.request_id import new_request_id
from ..packs.access import may_read
from .channel import ExtensionNotification
from .requests import Ctx

log = logging.getLogger("mcp_host.server")

MOST = 1000
"""How many names of one kind a stream may follow; of more, the first."""
PAUSE = 0.1
"""Seconds between two looks at what changed: what changes often is told as it is then."""


class Followed(NamedTuple):
    """One name that a client follows: of which pack, and how it is looked at."""

    pack: str
    how: Subscriptions
    name: str


class Stream:
    """What one stream follows, by what its packs say when it changes.

    `_changed` are those that have changed since they were told, and `_woken` is set while there are
    any.
    """

    def __init__(self, host: Host, ctx: Ctx, caller: Caller) -> None:
        self._host = host
        self._ctx = ctx
        self._caller = caller
        self._followed: dict[str, Followed] = {}
        self._changed: dict[str, None] = {}
        self._woken = asyncio.Event()
        self._acknowledged = asyncio.Event()

    def follows(self, uri: str) -> bool:
        """Whether it is told of a change of this; in any thread."""
        return uri in self._followed

    def changed(self, uri: str) -> None:
        """Hear that something has changed, whatever it is."""
        if uri in self._followed:
            self._changed[uri] = None
            self._woken.set()

    async def follow(self, pack: str, how: Subscriptions, names: list[str]) -> list[str]:
        """Follow those of these names that the pack agrees to, and return them."""
        asked = list(dict.fromkeys(names))[:MOST]
        self._followed.update({f"{how.key}:{name}": Followed(pack, how, name) for name in asked})
        arguments = {"names": asked}
        own = self._host.own_methods
        told = await own.ask(pack, how.agree, arguments, self._caller, new_request_id())
        agreed = [name for name in asked if name in told.get("names", ())]
        for name in asked:
            if name not in agreed:
                del self._followed[f"{how.key}:{name}"]
            else:
                self.changed(f"{how.key}:{name}")  # what it is now, which nobody has told yet
        return agreed

    def acknowledging(self, agreed: Mapping[str, list[str]]) -> Ctx:
        """Return the request's context, whose acknowledgement tells what is followed as well."""
        session: Any = _Acknowledging(self._ctx.session, agreed, self._acknowledged)
        return replace(self._ctx, session=session)

    async def tell(self) -> None:
        """Tell what changes, once the stream is acknowledged, as long as it is open."""
        await self._acknowledged.wait()
        while True:
            await self._woken.wait()
            self._woken.clear()
            changed, self._changed = self._changed, {}
            for uri in changed:
                await self._tell(self._followed[uri])
            await asyncio.sleep(PAUSE)

    async def _tell(self, one: Followed) -> None:
        get = one.how.get
        arguments = {str(get.named_by): one.name}
        own = self._host.own_methods
        try:
            told = await own.ask(one.pack, get, arguments, self._caller, new_request_id())
        except (McpHostError, TimeoutError) as error:  # as of what is no longer there
            log.debug("%s is not told: %s", one.how.notification, error)
            return
        meta = {**told.pop("_meta", {}), SUBSCRIPTION_ID_META_KEY: self._ctx.request_id}
        params = {**told, "_meta": meta}
        notification: Any = ExtensionNotification(method=one.how.notification, params=params)
        await self._ctx.session.send_notification(
            notification, related_request_id=self._ctx.request_id
        )


class _Acknowledging:
    """The session of a listen stream, whose first message also tells what extensions agreed to."""

    def __init__(
        self, session: Any, agreed: Mapping[str, list[str]], acknowledged: asyncio.Event
    ) -> None:
        self._session = session
        self._agreed = agreed
        self._acknowledged = acknowledged

    async def send_notification(self, notification: Any, **how: Any) -> None:
        """Send one notification of the stream."""
        if isinstance(notification, types.SubscriptionsAcknowledgedNotification):
            for key, names in self._agreed.items():
                setattr(notification.params.notifications, key, names)
        await self._session.send_notification(notification, **how)
        self._acknowledged.set()


class Following:
    """Every stream that follows something of an extension."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._streams: list[Stream] = []

    def is_followed(self, uri: str) -> bool:
        """Whether any stream follows it; in any thread."""
        return any(stream.follows(uri) for stream in self._streams) if self._streams else False

    def changed(self, uri: str) -> None:
        """Hear of a change, for every stream."""
        for stream in self._streams:
            stream.changed(uri)

    def wanted(self, ctx: Ctx, caller: Caller) -> dict[str, tuple[Subscriptions, list[str]]]:
        """What a request wants to follow, by the pack that has it.

        Raises `MissingCapability` where the client has not declared the extension, and
        `ProtocolError` where what it names are not names.
        """
        asked = ((ctx.params or {}).get("notifications") or {}).items()
        found = {}
        for pack, (identifier, how) in self._host.catalog.subscriptions.items():
            names = dict(asked).get(how.key)
            if not names or not self._host.packs[pack].condition.listed:
                continue
            if identifier not in caller.extensions:
                raise MissingCapability(EXTENSIONS + identifier)
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise ProtocolError(INVALID_PARAMS, f"{how.key} must be a list of strings")
            found[pack] = how, names
        return found

    async def begin(
        self, ctx: Ctx, caller: Caller, wanted: Mapping[str, tuple[Subscriptions, list[str]]]
    ) -> tuple[Stream, Ctx]:
        """Let a stream follow what it wants and may; with the context to serve it in."""
        stream = Stream(self._host, ctx, caller)
        self._streams.append(stream)
        agreed = {}
        try:
            for pack, (how, names) in wanted.items():
                if may_read(pack, caller) and (names := await stream.follow(pack, how, names)):
                    agreed[how.key] = names
        except BaseException:
            self._streams.remove(stream)
            raise
        return stream, stream.acknowledging(agreed)

    @contextmanager
    def telling(self, stream: Stream) -> Iterator[None]:
        """Tell a stream what changes, within the block."""
        telling = asyncio.create_task(stream.tell())
        try:
            yield
        finally:
            telling.cancel()
            self._streams.remove(stream)
