"""The keys of an issuer, as it publishes them."""

from __future__ import annotations

import json
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import jwt

from ....startup.dataclass import dataclass
from ....startup.version import VERSION
from .errors import IssuerUnreachableError

log = logging.getLogger("mcp_host.server")

TIMEOUT = 5.0
LARGEST = 1024 * 1024
"""Bytes of an answer that are read."""
MOST_KEYS = 100
OF_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
WELL_KNOWN = ("oauth-authorization-server", "openid-configuration")


@dataclass(frozen=True)
class PublicKey:
    """One public key; `told` is how the issuer told of it."""

    id: object
    algorithms: tuple[str, ...]
    key: Any
    told: Mapping[str, Any]


@dataclass(frozen=True)
class KeySet:
    """The public keys of an issuer, and the scopes that its metadata names."""

    keys: tuple[PublicKey, ...]
    scopes_supported: frozenset[str] | None

    @property
    def told(self) -> object:
        """What makes it another one."""
        return [key.told for key in self.keys], self.scopes_supported


def fetch(issuer: str, url: str | None) -> KeySet:
    """Fetch the keys of an issuer: from a URL, or where its metadata says; in any thread."""
    metadata = _metadata(issuer)
    if url is None:
        url = metadata.get("jwks_uri") if metadata is not None else None
        if not isinstance(url, str):
            raise IssuerUnreachableError("it has no metadata that names them; set jwks_url")
        if _origin(url)[0] != "https" and _origin(url) != _origin(issuer):
            raise IssuerUnreachableError(f"its metadata names {url}, which is not https")
    told = metadata.get("scopes_supported") if metadata is not None else None
    scopes = frozenset(map(str, told)) if isinstance(told, list) else None
    return KeySet(tuple(_keys(_got(url))), scopes)


def _keys(told: Mapping[str, Any]) -> Iterator[PublicKey]:
    given = told.get("keys")
    if not isinstance(given, list):
        raise ValueError("its keys must be a JSON Web Key Set")
    for one in given[:MOST_KEYS]:
        # One of another kind, or for another use, does not make the others useless.
        if isinstance(one, dict) and one.get("use", "sig") == "sig" and one.get("kty") != "oct":
            with suppress(Exception):  # whatever an issuer may send
                parsed = jwt.PyJWK(one)
                # One of RSA that does not say by which it signs may by all.
                is_open = one.get("kty") == "RSA" and "alg" not in one
                algorithms = OF_RSA if is_open else (parsed.algorithm_name,)
                yield PublicKey(one.get("kid"), algorithms, parsed.key, one)


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
    began = time.monotonic()
    text = b""
    with urllib.request.build_opener(_NoRedirect).open(asked, timeout=TIMEOUT) as answer:
        while piece := answer.read1(LARGEST):
            text += piece
            if len(text) > LARGEST:
                raise ValueError(f"{url} answers more than {LARGEST} bytes")
            if time.monotonic() - began > TIMEOUT:  # that of `open` is for each piece
                raise TimeoutError("timed out")
    told = json.loads(text)
    if not isinstance(told, dict):
        raise ValueError(f"{url} must answer a JSON object")
    return told


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
