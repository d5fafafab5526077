"""Bearer tokens: who presents one, and what it allows."""

from __future__ import annotations

import hmac
from collections.abc import Sequence

from mcp.server.auth.provider import AccessToken

from ....settings.tables import TokenTable


class Verifier:
    """Finds the subject and the scopes of a bearer token."""

    def __init__(self, tokens: Sequence[TokenTable]) -> None:
        self._tokens = tokens

    def find(self, token: str) -> TokenTable | None:
        """The settings of a token; None where nobody has it."""
        found = None
        for known in self._tokens:  # all of them, so that the time tells nothing
            if hmac.compare_digest(known.token.encode(), token.encode("utf-8", "replace")):
                found = known
        return found

    async def verify_token(self, token: str) -> AccessToken | None:
        """What a token proves, as the SDK takes it."""
        found = self.find(token)
        if found is None:
            return None
        return AccessToken(
            token=token, client_id=found.subject, subject=found.subject, scopes=found.scopes
        )
