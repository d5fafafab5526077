"""Tokens that others have issued: JWTs, checked against their issuer's keys."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jwt

from ....settings.tables import IssuerTable
from ...lane.identity import Identity
from .errors import IssuerUnreachableError
from .key_set import PublicKey
from .keys import Keys

log = logging.getLogger("mcp_host.server")

REMEMBERED = 10_000
"""Tokens that were checked and are taken again without another look at their signature."""
LEEWAY = 5
"""Seconds by which the clocks of an issuer and of this machine may differ."""
EVERYTHING = frozenset(("*",))


class Issuers:
    """Checks the tokens of every issuer of the settings."""

    def __init__(self, tables: Sequence[IssuerTable]) -> None:
        self._prefixes = [table.prefix for table in tables if table.prefix]
        self._issuers = {table.issuer: _Issuer(table, self._belongs_to) for table in tables}

    def find(self, token: str) -> Identity | None:
        """Whose a token is that was checked before; None of any other."""
        for issuer in self._issuers.values():
            if (found := issuer.find(token)) is not None:
                return found
        return None

    async def verify(self, token: str) -> Identity | None:
        """Whose a token is; None where it proves nothing.

        Raises `IssuerUnreachableError` where that cannot be said, for its issuer does not answer.
        """
        issuer = self._issuers.get(_issuer_of(token))
        return None if issuer is None else await issuer.verify(token)

    async def offered(self) -> frozenset[str]:
        """Every scope that one of the issuers gives."""
        sets = [await issuer.offered() for issuer in self._issuers.values()]
        return frozenset().union(*sets)

    def begin(self) -> None:
        """Begin to fetch the keys of all."""
        for issuer in self._issuers.values():
            issuer.begin()

    def close(self) -> None:
        """Fetch no more."""
        for issuer in self._issuers.values():
            issuer.close()

    def _belongs_to(self, subject: str) -> str:
        """The prefix of the issuer that alone may speak of such a subject; "" where none has it."""
        return next((prefix for prefix in self._prefixes if subject.startswith(prefix)), "")


class _Issuer:
    """One issuer. `_checked` has the tokens that were checked with the keys as they are now."""

    def __init__(self, table: IssuerTable, belongs_to: Callable[[str], str]) -> None:
        self._table = table
        self._belongs_to = belongs_to
        self._checked: OrderedDict[str, Identity] = OrderedDict()
        self._keys = Keys(table.issuer, table.jwks_url, self._checked.clear)

    def begin(self) -> None:
        self._keys.begin()

    def close(self) -> None:
        self._keys.close()

    async def offered(self) -> frozenset[str]:
        try:
            await self._keys.ready()
        except IssuerUnreachableError:
            return frozenset()
        return self._offered

    @property
    def _offered(self) -> frozenset[str]:
        """What its metadata says that it gives; everything where it does not say."""
        told = self._keys.scopes_supported
        return EVERYTHING if told is None else told

    def find(self, token: str) -> Identity | None:
        found = self._checked.get(token)
        if found is None:
            return None
        assert found.expires is not None  # none without is kept
        if found.expires <= time.time():
            del self._checked[token]
            return None
        if not self._keys.are_fresh:
            self._keys.begin()
            if self._keys.are_stale:
                return None
        return found

    async def verify(self, token: str) -> Identity | None:
        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError:
            return None
        algorithm, kid = header.get("alg"), header.get("kid")
        if algorithm not in self._table.algorithms:
            return None
        for key in await self._keys.find(kid, algorithm):
            found = self._checked_by(key, token, algorithm)
            if found is not None:
                return found
        return None

    def _checked_by(self, key: PublicKey, token: str, algorithm: str) -> Identity | None:
        table = self._table
        try:
            claims = jwt.decode(
                token,
                key.key,
                algorithms=[algorithm],
                audience=table.audience,
                issuer=table.issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "iss", "aud", table.user_claim]},
            )
            expires = float(claims["exp"]) + LEEWAY
        except (jwt.PyJWTError, OverflowError) as error:
            log.debug("a token of %s is refused: %s", table.issuer, error)
            return None
        user = claims[table.user_claim]
        if not isinstance(user, str) or not user or not user.isprintable():
            log.debug("a token of %s is refused: its %s", table.issuer, table.user_claim)
            return None
        subject = table.prefix + user
        if self._belongs_to(subject) != table.prefix:
            log.debug("a token of %s is refused: its subject is another's", table.issuer)
            return None
        found = Identity(subject, _scopes(claims), self._offered, expires)
        self._checked[token] = found
        if len(self._checked) > REMEMBERED:
            self._checked.popitem(last=False)
        return found


def _scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    """The scopes of a token: `scope` (RFC 9068), or `scp` as some issuers write it."""
    told = claims.get("scope", claims.get("scp", ()))
    if isinstance(told, str):
        told = told.split()
    return frozenset(one for one in told if isinstance(one, str)) if _is_list(told) else frozenset()


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _issuer_of(token: str) -> str:
    """Whose token it says that it is; nothing of it is proven."""
    try:
        claims = jwt.decode(token, options={"verify_signature": False})
    except (jwt.PyJWTError, ValueError, RecursionError):
        return ""
    issuer = claims.get("iss")
    return issuer if isinstance(issuer, str) else ""
