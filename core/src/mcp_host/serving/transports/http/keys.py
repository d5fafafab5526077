"""An issuer's keys and metadata: fetched in threads, and fetched anew as keys are rotated."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import jwt

from ....startup.dataclass import dataclass
from ....startup.version import VERSION
from .errors import IssuerUnreachableError

log = logging.getLogger("mcp_host.server")

FRESH, STALE = 300.0, 3600.0
"""Seconds after which keys are fetched anew, and after which old ones count no more."""
PAUSE = 5.0
"""Seconds from one attempt to the next, whatever keys tokens name."""
TIMEOUT = 5.0
LARGEST = 1024 * 1024
"""Bytes of an answer that are read."""
MOST_KEYS = 100
MOST_TRIED = 8
"""Keys that are tried for a token that does not name its own."""
OF_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
WELL_KNOWN = ("oauth-authorization-server", "openid-configuration")


@dataclass(frozen=True)
class Key:
    """One public key; `told` is how the issuer told of it."""

    id: object
    algorithms: tuple[str, ...]
    key: Any
    told: Mapping[str, Any]


@dataclass(frozen=True)
class _Fetched:
    keys: tuple[Key, ...]
    scopes_supported: frozenset[str] | None


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
        self._fetched: _Fetched | None = None
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
            raise IssuerUnreachableError(f"{self._issuer} does not give its keys: {self._problem}")

    async def find(self, kid: object, algorithm: str) -> list[Key]:
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
            await asyncio.shield(self._fetching)

    def _named(self, kid: object, algorithm: str) -> list[Key]:
        keys = self._fetched.keys if self._fetched is not None else ()
        fit = [key for key in keys if algorithm in key.algorithms]
        if kid is None:
            return fit[:MOST_TRIED]
        return [key for key in fit if key.id == kid][:1]

    async def _fetch(self) -> None:
        try:
            fetched = await asyncio.to_thread(_fetched, self._issuer, self._url)
        except Exception as error:  # whatever an issuer may send
            if not self._problem:
                log.warning("the keys of %s could not be fetched: %s", self._issuer, error)
            self._problem = str(error) or type(error).__name__
        else:
            before, self._fetched = self._fetched, fetched
            self._fetched_at = time.monotonic()
            self._problem = ""
            if before is None or _told(before) != _told(fetched):
                self._changed()
        finally:
            self._fetching = None


def _told(fetched: _Fetched) -> object:
    return [key.told for key in fetched.keys], fetched.scopes_supported


def _fetched(issuer: str, url: str | None) -> _Fetched:
    metadata = _metadata(issuer)
    if url is None:
        url = metadata.get("jwks_uri") if metadata is not None else None
        if not isinstance(url, str):
            raise IssuerUnreachableError("it has no metadata that names them; set jwks_url")
        if _origin(url)[0] != "https" and _origin(url) != _origin(issuer):
            raise IssuerUnreachableError(f"its metadata names {url}, which is not https")
    told = metadata.get("scopes_supported") if metadata is not None else None
    scopes = frozenset(map(str, told)) if isinstance(told, list) else None
    return _Fetched(tuple(_keys(_got(url))), scopes)


def _keys(told: Mapping[str, Any]) -> Iterator[Key]:
    given = told.get("keys")
    if not isinstance(given, list):
        raise ValueError("its keys must be a JSON Web Key Set")
    for one in given[:MOST_KEYS]:
        # One of another kind, or for another use, does not make the others useless.
        if isinstance(one, dict) and one.get("use", "sig") == "sig" and one.get("kty") != "oct":
            with suppress(jwt.PyJWTError, ValueError, TypeError, KeyError):
                parsed = jwt.PyJWK(one)
                # One of RSA that does not say by which it signs may by all.
                is_open = one.get("kty") == "RSA" and "alg" not in one
                algorithms = OF_RSA if is_open else (parsed.algorithm_name,)
                yield Key(one.get("kid"), algorithms, parsed.key, one)


def _metadata(issuer: str) -> Mapping[str, Any] | None:
    """What an issuer tells of itself (RFC 8414, or OpenID Connect); None where it tells nothing."""
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    places = [f"{origin}/.well-known/{name}{path}" for name in WELL_KNOWN]
    if path:
        places.append(f"{origin}{path}/.well-known/{WELL_KNOWN[1]}")
    for place in places:
        try:
            told = _got(place)
        except (OSError, ValueError) as error:
            log.debug("no metadata at %s: %s", place, error)
            if not isinstance(error, urllib.error.HTTPError | ValueError):
                return None  # who does not answer here does not answer elsewhere
            continue
        if told.get("issuer") == issuer:
            return told
        log.warning("the metadata at %s is of another issuer, and does not count", place)
    return None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Keys come from where the settings say."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _got(url: str) -> dict[str, Any]:
    """The JSON object at a URL."""
    about = {"Accept": "application/json", "User-Agent": f"mcp-host/{VERSION}"}
    asked = urllib.request.Request(url, headers=about)  # noqa: S310 - https, or this machine
    with urllib.request.build_opener(_NoRedirect).open(asked, timeout=TIMEOUT) as answer:
        text = answer.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise ValueError(f"{url} answers more than {LARGEST} bytes")
    told = json.loads(text)
    if not isinstance(told, dict):
        raise ValueError(f"{url} must answer a JSON object")
    return told


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
