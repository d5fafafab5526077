"""Bearer tokens: who presents one, and what it allows."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mcp.server.auth.provider import AccessToken

from ....settings.tables import TokenTable
from ...lane.identity import Identity

if TYPE_CHECKING:
    from .issuers import Issuers


class IssuerUnreachableError(Exception):
    """An issuer does not give its keys, so that nobody can say whose a token is."""


class KnownToken(AccessToken):
    """What a token proves, as the SDK takes it; `offered` as in `Identity`."""

    offered: frozenset[str] | None = None


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

    def find(self, token: str) -> Identity | None:
        """Whose a token is, as far as that is known at once; None where it is not."""
        found = None
        given = token.encode("utf-8", "replace")
        for known in self._tokens():  # all of them, so that the time tells nothing
            if hmac.compare_digest(known.token.encode(), given):
                found = known
        if found is None:
            return self._issuers.find(token) if self._issuers is not None else None
        if found.expires is None:
            return Identity(found.subject, frozenset(found.scopes))
        if found.expires <= datetime.now(UTC):
            return None
        expires = found.expires.timestamp()
        return Identity(found.subject, frozenset(found.scopes), expires=expires)

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
