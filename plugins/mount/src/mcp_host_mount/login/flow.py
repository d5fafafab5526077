"""One login: the SDK's client asks the server for it, and a person agrees in a browser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from ipaddress import ip_address
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.shared._httpx_utils import create_mcp_http_client
from pydantic import ValidationError

from ..greeting import CLIENT
from ..model import HANDSHAKE
from ..settings import OAuthSettings
from .browser import LoginError, Return, browser_return
from .client import Storage, provider
from .store import Kept, LoginStore

__all__ = ["LoginError", "log_in"]
ACCEPTS = {"accept": "application/json, text/event-stream"}
GREETING = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": CLIENT},
}
Show = Callable[[str], Awaitable[None]]


async def log_in(
    store: LoginStore,
    named: OAuthSettings,
    headers: Mapping[str, str],
    show: Show,
    seconds: float,
) -> Kept | None:
    """Log in at the store's address, and keep the login; None where the server wants none.

    `show` is given the address for the person's browser. Raises `LoginError`.
    """
    _refuse_plain_http(store.url)
    before = store.read()
    async with _returning(named, before) as back:
        known = before.client if before and back.uri in _ways_back(before) else {}
        storage = Storage(Kept(store.url, client=known), named)

        async def shown(address: str) -> None:
            for place in (address, *_endpoints(oauth)):
                _refuse_plain_http(place)
            back.state = parse_qs(urlsplit(address).query).get("state", [""])[0]
            await show(address)

        oauth = provider(storage, back.uri, shown, back.answered)
        try:
            async with asyncio.timeout(seconds), create_mcp_http_client(auth=oauth) as client:
                asking = client.stream(
                    "POST", store.url, headers={**headers, **ACCEPTS}, json=GREETING
                )
                async with asking as answer:
                    status = answer.status_code
        except TimeoutError:
            raise LoginError(f"nobody has logged in within {seconds:g} s") from None
        except (OAuthFlowError, httpx2.HTTPError, ValidationError) as error:
            raise LoginError(f"the login has failed: {error}") from None
    if status >= 300:  # a redirect is not followed: what is sent is for this address alone
        raise LoginError(f"{httpx2.URL(store.url).host} has answered with HTTP {status}")
    if not storage.kept.tokens:
        return None
    kept = storage.kept_at(oauth)
    store.write(kept)
    return kept


@asynccontextmanager
async def _returning(named: OAuthSettings, before: Kept | None) -> AsyncIterator[Return]:
    """Listen where the settings say, or where this host was registered to, or at a free port."""
    ports = [urlsplit(uri).port or 0 for uri in (_ways_back(before) if before else ())]
    port = named.port or (ports[0] if ports else 0)
    async with AsyncExitStack() as stack:
        try:
            back = await stack.enter_async_context(browser_return(port))
        except LoginError:
            if named.port:
                raise
            back = await stack.enter_async_context(browser_return(0))
        yield back


def _ways_back(kept: Kept) -> list[str]:
    return [str(uri) for uri in kept.client.get("redirect_uris") or ()]


def _endpoints(oauth: OAuthClientProvider) -> list[str]:
    metadata = oauth.context.oauth_metadata
    return [] if metadata is None else [str(metadata.token_endpoint)]


def _refuse_plain_http(address: str) -> None:
    """Raise `LoginError` where a login would cross a network in the clear."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    try:
        is_here = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        is_here = False
    if parts.scheme != "https" and not (parts.scheme == "http" and is_here):
        raise LoginError(f"{parts.scheme}://{host} is not https: others could read the login")
