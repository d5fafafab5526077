"""Bearer tokens: who presents one, and what it allows."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Self

from mcp.server.auth.provider import AccessToken

from ....settings.tables import TokenTable
from ...lane.identity import Identity

if TYPE_CHECKING:
    from .issuers import Issuers


class KnownToken(AccessToken):
    """What a token proves, as the SDK takes it; `offered` as in `Identity`."""

    offered: frozenset[str] | None = None


class _Token(NamedTuple):
    """A token of the settings: whose it is, and until when."""

    identity: Identity
    expires: datetime | None

    @classmethod
    def of(cls, table: TokenTable) -> Self:
        expires = None if table.expires is None else table.expires.timestamp()
        return cls(Identity(table.subject, frozenset(table.scopes), expires=expires), table.expires)


class Verifier:
    """Finds the subject and the scopes of a bearer token.

    `tokens` are those of the settings as they are now, `issuers` those whose tokens count beside
    them.
    """

    def __init__(
        self, tokens: Callable[[], Sequence[TokenTable]], issuers: Issuers | None = None
    ) -> None:
        self._tokens = tokens
        self._issuers = issuers
        self._key = os.urandom(32)
        self._digested: Sequence[TokenTable] = ()
        self._by_digest: dict[bytes, _Token] = {}

    def find(self, token: str) -> Identity | None:
        """Whose a token is, as far as that is known at once; None where it is not."""
        tokens = self._tokens()
        if tokens is not self._digested:
            self._digested = tokens
            self._by_digest = {self._digest(one.token): _Token.of(one) for one in tokens}
        found = self._by_digest.get(self._digest(token))
        if found is None:
            return self._issuers.find(token) if self._issuers is not None else None
        if found.expires is not None and found.expires <= datetime.now(UTC):
            return None
        return found.identity

    def _digest(self, token: str) -> bytes:
        """What a token is found by: the time that takes tells nothing of any other token."""
        return hashlib.blake2b(token.encode("utf-8", "replace"), key=self._key).digest()

    async def verify_token(self, token: str) -> AccessToken | None:
        """What a token proves, as the SDK takes it."""
        found = self.find(token)
        if found is None and self._issuers is not None:
            found = await self._issuers.verify(token)
        if found is None:
            return None
        return KnownToken(
            token=token,
            client_id=found.subject,
            subject=found.subject,
            scopes=sorted(found.scopes),
            expires_at=None if found.expires is None else int(found.expires) + 1,
            offered=found.offered,
        )
