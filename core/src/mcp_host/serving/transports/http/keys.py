"""An issuer's keys, as long as they count: fetched in threads, and anew as they are rotated."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from .errors import IssuerUnreachableError
from .key_set import KeySet, PublicKey, fetch

log = logging.getLogger("mcp_host.server")

FRESH, STALE = 300.0, 3600.0
"""Seconds after which keys are fetched anew, and after which old ones count no more."""
PAUSE = 5.0
"""Seconds from one attempt to the next, whatever keys tokens name."""
LONGEST_WAIT = 12.0
"""Seconds that a token waits for keys that are being fetched."""
MOST_TRIED = 8
"""Keys that are tried for a token that does not name its own."""


class Keys:
    """The keys of one issuer.

    One fetch runs at a time, and none begins within `PAUSE` of the last: tokens with keys that
    there are not cost the issuer nothing. Keys that could not be fetched anew count until they are
    `STALE`. `changed` is called when they are others. `scopes_supported` is what the metadata says,
    None where there is none.
    """

    def __init__(self, issuer: str, url: str | None, changed: Callable[[], None]) -> None:
        self._issuer = issuer
        self._url = url
        self._changed = changed
        self._fetched: KeySet | None = None
        self._fetched_at = self._tried_at = float("-inf")
        self._fetching: asyncio.Task[None] | None = None
        self._problem = ""

    @property
    def scopes_supported(self) -> frozenset[str] | None:
        """The scopes that the issuer's metadata names."""
        return None if self._fetched is None else self._fetched.scopes_supported

    @property
    def are_fresh(self) -> bool:
        """Whether the keys need not be fetched anew."""
        return time.monotonic() - self._fetched_at < FRESH

    @property
    def are_stale(self) -> bool:
        """Whether the keys are too old to count."""
        return time.monotonic() - self._fetched_at >= STALE

    def begin(self) -> None:
        """Begin to fetch, unless that was done just now."""
        now = time.monotonic()
        if self._fetching is None and now - self._tried_at >= PAUSE:
            self._tried_at = now
            self._fetching = asyncio.create_task(self._fetch())

    def close(self) -> None:
        """Wait for nothing any more."""
        if self._fetching is not None:
            self._fetching.cancel()

    async def ready(self) -> None:
        """Wait until there are keys; `IssuerUnreachableError` where they are not to be had."""
        if not self.are_fresh:
            self.begin()
        if self.are_stale:
            await self._arrived()
        if self.are_stale:
            why = self._problem or "it has not answered yet"
            raise IssuerUnreachableError(f"{self._issuer} does not give its keys: {why}")

    async def find(self, kid: object, algorithm: str) -> list[PublicKey]:
        """The keys that a token may be signed with; a name that is new has them fetched anew."""
        await self.ready()
        found = self._named(kid, algorithm)
        if not found:
            self.begin()
            await self._arrived()
            found = self._named(kid, algorithm)
        return found

    async def _arrived(self) -> None:
        if self._fetching is not None:
            await asyncio.wait({self._fetching}, timeout=LONGEST_WAIT)

    def _named(self, kid: object, algorithm: str) -> list[PublicKey]:
        keys = self._fetched.keys if self._fetched is not None else ()
        fit = [key for key in keys if algorithm in key.algorithms]
        if kid is None:
            return fit[:MOST_TRIED]
        return [key for key in fit if key.id == kid][:1]

    async def _fetch(self) -> None:
        try:
            fetched = await asyncio.to_thread(fetch, self._issuer, self._url)
        except Exception as error:  # whatever an issuer may send
            if not self._problem:
                log.warning("the keys of %s could not be fetched: %s", self._issuer, error)
            self._problem = str(error) or type(error).__name__
        else:
            before, self._fetched = self._fetched, fetched
            self._fetched_at = time.monotonic()
            self._problem = ""
            if before is None or before.told != fetched.told:
                self._changed()
        finally:
            self._fetching = None
