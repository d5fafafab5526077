"""The SDK's OAuth client with a login that is kept between its uses."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import BaseModel

from ..settings import OAuthSettings
from .store import Kept, LoginStore

NAME = "mcp-host"
LONG_AGO = 1.0
NOWHERE = "http://127.0.0.1/callback"


class Storage:
    """What the SDK's client reads and writes: one login, and the client that was named for it."""

    def __init__(self, kept: Kept, named: OAuthSettings) -> None:
        self.kept = kept
        self._named = named

    async def get_tokens(self) -> OAuthToken | None:
        return OAuthToken.model_validate(self.kept.tokens) if self.kept.tokens else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        seconds = tokens.expires_in
        ends = None if seconds is None else time.time() + seconds
        self.kept = replace(self.kept, tokens=_data(tokens), expires_at=ends)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self._named.client_id is not None:
            secret = self._named.client_secret
            return OAuthClientInformationFull(
                client_id=self._named.client_id,
                client_secret=secret,
                token_endpoint_auth_method="none" if secret is None else "client_secret_basic",
                redirect_uris=None,
            )
        if not self.kept.client:
            return None
        return OAuthClientInformationFull.model_validate(self.kept.client)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.kept = replace(self.kept, client=_data(client_info))

    def kept_at(self, provider: OAuthClientProvider) -> Kept:
        """Return the login with where it was made, so that its token is only renewed there."""
        context = provider.context
        place = {
            "server": context.auth_server_url,
            "metadata": _data(context.oauth_metadata),
            "resource": _data(context.protected_resource_metadata),
        }
        return replace(self.kept, place=place)


def provider(
    storage: Storage,
    redirect_uri: str = NOWHERE,
    show: Callable[[str], Awaitable[None]] | None = None,
    answered: Callable[[], Awaitable[AuthorizationCodeResult]] | None = None,
) -> OAuthClientProvider:
    """Return the SDK's client for a login; without `show` and `answered` it asks nobody."""
    about = OAuthClientMetadata.model_validate(
        {"client_name": NAME, "redirect_uris": [redirect_uri]}
    )
    made = OAuthClientProvider(storage.kept.url, about, storage, show, answered)
    place = storage.kept.place
    made.context.auth_server_url = place.get("server")
    if place.get("metadata"):
        made.context.oauth_metadata = OAuthMetadata.model_validate(place["metadata"])
    if place.get("resource"):
        found = ProtectedResourceMetadata.model_validate(place["resource"])
        made.context.protected_resource_metadata = found
    return made


async def renewed(store: LoginStore, kept: Kept, named: OAuthSettings) -> Kept | None:
    """Renew a login's token, and keep it; None where the authorization server gives no other."""
    if not kept.tokens.get("refresh_token"):
        return None
    storage = Storage(kept, named)
    oauth = provider(storage)
    oauth.context.token_expiry_time = LONG_AGO
    probe = httpx2.Request("GET", kept.url)  # never sent: what comes before it is the renewal
    flow = oauth.async_auth_flow(probe)
    try:
        async with create_mcp_http_client() as client:
            asked = await anext(flow)
            while asked is not probe:
                response = await client.send(asked, follow_redirects=False)
                asked = await flow.asend(response)
    except httpx2.HTTPError:
        return None
    finally:
        await flow.aclose()
    if storage.kept.token == kept.token:
        return None
    store.write(storage.kept)
    return storage.kept


def _data(model: BaseModel | None) -> dict[str, Any]:
    if model is None:
        return {}
    found: dict[str, Any] = model.model_dump(mode="json", exclude_none=True)
    return found
