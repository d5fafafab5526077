"""Where a login is kept: in a file that only the user can read, or in the system's keyring."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from mcp_host import SettingsError
from platformdirs import user_data_path

SERVICE = "mcp-host"
EARLY = 30.0
"""Seconds before its end at which a token is taken for old."""


@dataclass(frozen=True)
class Kept:
    """A login as it is kept: plain data of the SDK's models.

    `client` is what the authorization server knows this host as, `place` where to find that server,
    and `expires_at` when the access token ends, in seconds since 1970.
    """

    url: str
    client: Mapping[str, Any] = field(default_factory=dict)
    tokens: Mapping[str, Any] = field(default_factory=dict)
    expires_at: float | None = None
    place: Mapping[str, Any] = field(default_factory=dict)

    @property
    def token(self) -> str:
        """The access token; empty where there is none."""
        return str(self.tokens.get("access_token", ""))

    @property
    def is_fresh(self) -> bool:
        """Whether the access token can be shown now, as far as its end is known."""
        return bool(self.token) and (
            self.expires_at is None or time.time() < self.expires_at - EARLY
        )


class LoginStore:
    """Keeps the login of one pack at one address; another address of the pack gets none of it."""

    def __init__(self, pack: str, url: str, *, in_keyring: bool = False) -> None:
        self.url = url
        digest = hashlib.sha256(json.dumps([pack, url]).encode()).hexdigest()[:24]
        self._name = f"{pack}.{digest}"
        self._in_keyring = in_keyring
        self._folder = user_data_path("mcp-host", appauthor=False) / "logins"

    def read(self) -> Kept | None:
        """Return what is kept; None where nothing is, or nothing that can be read."""
        try:
            text = self._keyring("get_password") if self._in_keyring else self._file.read_text()
            data = json.loads(text or "null")
            return Kept(**data) if data is not None and data["url"] == self.url else None
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write(self, kept: Kept) -> None:
        """Keep a login in place of what was kept."""
        text = json.dumps(asdict(kept))
        if self._in_keyring:
            self._keyring("set_password", text)
            return
        self._make_folder()
        draft = self._folder / f"{uuid4().hex}.new"
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            draft.replace(self._file)
        finally:
            draft.unlink(missing_ok=True)

    def forget(self) -> bool:
        """Forget the login; return whether there was one."""
        was_there = self.read() is not None
        if was_there and self._in_keyring:
            self._keyring("delete_password")
        self._file.unlink(missing_ok=True)
        return was_there

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from renewing the login meanwhile; waits for those that do."""
        self._make_folder()
        handle = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    @property
    def _file(self) -> Path:
        return self._folder / f"{self._name}.json"

    def _make_folder(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder.chmod(0o700)

    def _keyring(self, function: str, *values: str) -> str | None:
        try:
            import keyring  # an extra, and slow to import: only for those who chose it
        except ImportError:
            raise SettingsError(
                "oauth.keyring needs the keyring: pip install 'mcp-host-mount[keyring]'"
            ) from None
        try:
            found = getattr(keyring, function)(SERVICE, self._name, *values)
        except keyring.errors.KeyringError as error:
            raise SettingsError(f"the system's keyring refuses: {error}") from None
        return found if isinstance(found, str) else None
