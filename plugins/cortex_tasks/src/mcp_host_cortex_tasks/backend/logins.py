"""Passwords and tokens: hashed with Argon2id, signed with HS256, and slow to be guessed."""

import hmac
import os
import secrets
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jwt
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from ..errors import InvalidError
from ..storage.files import replace_text

ALGORITHM = "HS256"
MARK = "pwd"
LIFETIME = timedelta(days=30)
MIN_SECRET = 32
# A hash takes 64 MiB: a crowd of logins must not take all memory.
HASHES_AT_ONCE = 4
MAX_FAILURES = 10
FAILURES_FOR = 300.0
REMEMBERED = 10_000


class Passwords:
    """Hashes and checks passwords, a few at a time."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher()
        self._turns = threading.BoundedSemaphore(HASHES_AT_ONCE)
        self._nobody = self._hasher.hash(secrets.token_hex())

    def hash(self, password: str) -> str:
        """Return the hash to keep."""
        with self._turns:
            return self._hasher.hash(password)

    def fits(self, password: str, kept: str | None) -> bool:
        """Tell whether a password is the one of a hash; as slow where there is no such user."""
        with self._turns:
            try:
                self._hasher.verify(kept or self._nobody, password)
            except (VerificationError, InvalidHashError):
                return False
        return kept is not None


@dataclass(frozen=True, slots=True)
class Login:
    """What a token says: whose it is, and a mark of the password it was made under."""

    owner: int
    mark: str


class Tokens:
    """Makes and checks tokens whose owner is `sub`; they end with the password they are made under.

    Each holds a mark of the password's hash, so that no list of tokens has to be kept.
    """

    def __init__(self, secret: str) -> None:
        if len(secret.encode()) < MIN_SECRET:
            raise InvalidError(
                f"The secret of the tokens has fewer than {MIN_SECRET} bytes.",
                reason="weak_secret",
                suggestions=["Unset CORTEX_SECRET_KEY, and one is made and kept."],
            )
        self._secret = secret

    def make(self, user_id: int, password_hash: str) -> str:
        """Return a token for a user, good as long as this is the hash of their password."""
        now = datetime.now(UTC)
        claims = {"sub": str(user_id), "iat": now, "exp": now + LIFETIME}
        return jwt.encode(claims | {MARK: self._mark(password_hash)}, self._secret, ALGORITHM)

    def read(self, token: str) -> Login | None:
        """Return what a token says, None for one that is forged, unsigned, expired or damaged."""
        try:
            claims = jwt.decode(
                token, self._secret, [ALGORITHM], options={"require": ["exp", "sub", MARK]}
            )
            return Login(int(claims["sub"]), str(claims[MARK]))
        except (jwt.InvalidTokenError, ValueError):
            return None

    def holds(self, login: Login, password_hash: str) -> bool:
        """Tell whether the owner still has the password that the token was made under."""
        return hmac.compare_digest(login.mark.encode(), self._mark(password_hash).encode())

    def _mark(self, password_hash: str) -> str:
        return hmac.digest(self._secret.encode(), password_hash.encode(), "sha256").hex()[:32]


class Failures:
    """Counts failed logins, so that passwords cannot be tried by the thousand."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times: dict[str, list[float]] = {}

    def wait(self, who: str) -> int:
        """Return the seconds until `who` may try again, 0 for now."""
        with self._lock:
            recent = self._recent(who)
            full = len(recent) >= MAX_FAILURES
            return int(recent[0] + FAILURES_FOR - time.monotonic()) + 1 if full else 0

    def failed(self, who: str) -> None:
        """Count one failure."""
        with self._lock:
            if len(self._times) >= REMEMBERED:
                self._times.pop(next(iter(self._times)))
            self._times[who] = [*self._recent(who), time.monotonic()]

    def _recent(self, who: str) -> list[float]:
        since = time.monotonic() - FAILURES_FOR
        return [moment for moment in self._times.get(who, ()) if moment > since]


def token_secret(home: Path) -> str:
    """Return `$CORTEX_SECRET_KEY`, else the secret kept in `home`, made on first use."""
    given = os.environ.get("CORTEX_SECRET_KEY")
    if given:
        return given
    kept = home / "backend.key"
    if not kept.exists():
        replace_text(kept, secrets.token_urlsafe(48))
    return kept.read_text(encoding="utf-8").strip()
