"""Changing the user's settings; apart from reading them, which every command does."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from filelock import FileLock, Timeout

from ..errors import BusyError, InvalidError, UnsupportedError
from .config import FOR, KEYRING_SERVICE, KEYS, Config, Value, no_keyring, read_config
from .files import private_folder, replace_text

_PLACE = re.compile(r"[a-z0-9.\[\]:-]+(?:/[^/\s]+){0,20}")


def set_value(path: Path, key: str, text: str | None, place: str | None = None) -> Value:
    """Set one setting from its text (None removes it), keep all others, return the value.

    `place` is a host, or a repository as HOST/OWNER/NAME, that the setting is for.
    """
    value = None if text is None else _parsed(key, text)
    if place is not None:
        return _set_for(path, _place(place, key), key, value)
    with _changing(path) as values:
        if key == "url" and values.get("access_token") and values.get("url"):
            values.setdefault("access_token_url", values["url"])  # it stays the old one's
        if value is None:
            values.pop(key, None)
        else:
            values[key] = value
        if key == "access_token":
            _bind(values)
    return value


def _set_for(path: Path, place: str, key: str, value: Value) -> Value:
    with _changing(path) as values:
        told = values.get(FOR)
        places = {**told} if isinstance(told, Mapping) else {}
        mine = {**places.get(place, {})}
        mine.pop(key, None)
        places[place] = mine if value is None else {**mine, key: value}
        if not places[place]:
            del places[place]
        values.pop(FOR, None)
        if places:
            values[FOR] = places
    return value


def _place(text: str, key: str) -> str:
    if key in KEYS and not KEYS[key].keyed:
        raise InvalidError(f"{key} cannot be set for a host: there is one for all of them.")
    place = text.lower().strip("/")
    if "://" in place or not _PLACE.fullmatch(place):
        raise InvalidError(f"{text!r} must be a host, or a repository as HOST/OWNER/NAME.")
    return place


def keep_token(config: Config, token: str | None) -> None:
    """Keep the login token where the settings say; None forgets it in both places."""
    if config.flag("keyring"):
        _keyring_store(config.url, token)
        token = None
    with _changing(config.path) as values:
        values.pop("access_token", None)
        if token is not None:
            values["access_token"] = token
        _bind(values)


def _keyring_store(url: str, token: str | None) -> None:
    try:
        import keyring
    except ImportError:
        raise no_keyring() from None
    try:
        if token is not None:
            keyring.set_password(KEYRING_SERVICE, url, token)
        elif keyring.get_password(KEYRING_SERVICE, url) is not None:
            keyring.delete_password(KEYRING_SERVICE, url)
    except keyring.errors.KeyringError as error:
        raise UnsupportedError(f"The keyring refuses: {error}", reason="keyring") from None


def _parsed(key: str, text: str) -> Value:
    if key not in KEYS:
        near = get_close_matches(key, KEYS, 1)
        raise InvalidError(
            f"There is no setting {key!r}.",
            suggestions=[f"Did you mean {near[0]}?"] if near else ["ctx config keys"],
        )
    try:
        return KEYS[key].parse(text)
    except InvalidError as error:
        shown = "that value" if KEYS[key].secret else error.message
        raise InvalidError(
            f"{key}: {shown}" if shown == error.message else f"{key}: {shown} cannot be used."
        ) from None


def _bind(values: dict[str, object]) -> None:
    """Note which backend the login token is for, so that it goes to no other."""
    values.pop("access_token_url", None)
    if values.get("access_token") and values.get("url"):
        values["access_token_url"] = values["url"]


@contextmanager
def _changing(path: Path) -> Iterator[dict[str, object]]:
    """Yield the settings to change, locked against another `ctx`, and write them whole."""
    private_folder(path.parent)
    try:
        with FileLock(path.with_name("config.lock"), timeout=10):
            values = dict(read_config(path).values)
            yield values
            replace_text(path, json.dumps(values, indent=2, ensure_ascii=False) + "\n")
    except Timeout:
        raise BusyError(f"Another ctx is writing {path}.", reason="config_locked") from None
