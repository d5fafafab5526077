"""Shows the token of a kept login to one server, and renews it where it is old or refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping

import httpx2

from ..model import Mount
from ..settings import OAuthSettings
from .client import renewed
from .store import Kept, LoginStore

UNAUTHORIZED = 401


class LoginAuth(httpx2.Auth):
    """Adds the token to requests of one origin, and to no other's; it never asks a person.

    The SDK's own client holds a lock while a request waits for its answer, so that one long call
    would keep all others; it does the login and the renewal here, and nothing else.
    `is_refused` says whether the server wants a login that is not there.
    """

    def __init__(self, store: LoginStore, named: OAuthSettings) -> None:
        self.is_refused = False
        self._store = store
        self._named = named
        self._kept: Kept | None = None
        self._renewing = asyncio.Lock()

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if origin(request.url) != origin(httpx2.URL(self._store.url)):
            yield request
            return
        token = await self._token("")
        if token:
            request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == UNAUTHORIZED and (token := await self._token(token)):
            request.headers["Authorization"] = f"Bearer {token}"
            response = yield request
        self.is_refused = response.status_code == UNAUTHORIZED

    async def _token(self, refused: str) -> str:
        """Return a token other than the one that was refused; empty where there is none."""
        if self._kept is not None and self._is_good(self._kept, refused):
            return self._kept.token
        async with self._renewing:
            self._kept = await asyncio.to_thread(self._store.read)
            if self._kept is None:
                return ""
            if not self._is_good(self._kept, refused):
                self._kept = await asyncio.to_thread(self._renewed, refused) or self._kept
            return self._kept.token if self._is_good(self._kept, refused) else ""

    def _renewed(self, refused: str) -> Kept | None:
        """Renew the token, unless another process has done so while this one waited for it."""
        with self._store.locked():
            kept = self._store.read()
            if kept is None or self._is_good(kept, refused):
                return kept
            return asyncio.run(renewed(self._store, kept, self._named))

    def _is_good(self, kept: Kept, refused: str) -> bool:
        return kept.is_fresh and kept.token != refused


def login_of(mount: Mount, headers: Mapping[str, str]) -> LoginAuth | None:
    """Return the login for a mount's address; None where its headers hold one already."""
    if any(name.lower() == "authorization" for name in headers):
        return None
    named = OAuthSettings.model_validate(mount.keys.get("oauth", {}))
    store = LoginStore(mount.pack, str(mount.keys["url"]), in_keyring=named.keyring)
    return LoginAuth(store, named)


def origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    """Return what two addresses of one server have in common."""
    return url.scheme, url.host, url.port
