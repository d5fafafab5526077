"""A pack that asks an HTTP API with a key: exchange rates.

What to look at: the key is a SecretStr and never in an answer; one client for all calls, opened
with the pack; a time limit for each request that leaves the call a moment to answer; every way in
which the API can fail stands for an error code, with what to do.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Annotated

import httpx2
from mcp_host import (
    AuthenticationRequired,
    Busy,
    Context,
    Needs,
    NotFound,
    PackHandle,
    TimedOut,
    Tool,
    Unavailable,
    hookimpl,
    tool,
)
from pydantic import BaseModel, ConfigDict, Field, SecretStr

NO_KEY = 'set key = { env = "EXCHANGE_KEY" } in [packs.exchange.settings]'
MARGIN = 0.5
"""Seconds that are kept back of a call's time, to answer in."""
LONGEST = 20.0


class ExchangeSettings(BaseModel):
    """[packs.exchange.settings]."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str = Field("https://api.example.com", description="Where the API is")
    key: SecretStr | None = Field(None, description="The key of the API, from a secret")


class Rate(BaseModel):
    """What one unit of a currency is worth in another."""

    base: str
    quote: str
    rate: float


class Rates:
    """The API, asked by one client."""

    def __init__(self, client: httpx2.AsyncClient, key: SecretStr | None) -> None:
        self._client = client
        self._key = key

    async def rate(self, base: str, quote: str, seconds: float) -> float:
        """Return what one `base` is worth in `quote`; the API has so many seconds to answer."""
        if not self._key:
            raise AuthenticationRequired("No key is set", [NO_KEY], sent=False)
        try:
            answer = await self._client.get(
                "/rates",
                params={"base": base, "quote": quote},
                headers={"Authorization": f"Bearer {self._key.get_secret_value()}"},
                timeout=min(max(seconds - MARGIN, 0.1), LONGEST),
            )
        except httpx2.TimeoutException as error:
            raise TimedOut("The API did not answer in time") from error
        except httpx2.HTTPError as error:
            raise Unavailable("The API cannot be reached", ["Try again later"]) from error
        return self._read(answer, base, quote)

    def _read(self, answer: httpx2.Response, base: str, quote: str) -> float:
        if answer.status_code in (401, 403):
            raise AuthenticationRequired("The API refuses the key", [NO_KEY])
        if answer.status_code == 404:
            raise NotFound(f"There is no rate of {base} in {quote}")
        if answer.status_code == 429:
            wait = answer.headers.get("Retry-After", "60")
            raise Busy("The API allows no more requests now", details={"retry_after": wait})
        try:
            return float(answer.raise_for_status().json()["rate"])
        except (httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
            raise Unavailable("The API answers what is no rate") from error


Currency = Annotated[str, Field(pattern="^[A-Z]{3}$", description="Three letters, such as EUR")]


@tool(read_only=True, open_world=True, timeout=30)
async def rate(rates: Rates, /, base: Currency, quote: Currency, context: Context) -> Rate:
    """Return what one unit of a currency is worth in another, now."""
    found = await rates.rate(base, quote, context.remaining)
    return Rate(base=base, quote=quote, rate=found)


@hookimpl
def mcp_host_settings() -> type[ExchangeSettings]:
    return ExchangeSettings


@hookimpl
@asynccontextmanager
async def mcp_host_open(settings: ExchangeSettings, pack: PackHandle) -> AsyncIterator[Rates]:
    if not settings.key:
        pack.degraded("no key is set", "not_set_up", NO_KEY)
    async with httpx2.AsyncClient(base_url=settings.url, trust_env=False) as client:
        yield Rates(client, settings.key)


@hookimpl
def mcp_host_tools() -> Sequence[Tool]:
    return [rate]


@hookimpl
def mcp_host_needs() -> Needs:
    return Needs(reads_environment=("SSL_CERT_FILE", "SSL_CERT_DIR"))


@hookimpl
def mcp_host_errors() -> Mapping[type[Exception], str]:
    return {}
