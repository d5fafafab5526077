"""ctx config list | keys | get | set | unset"""

import argparse
import sys
from collections.abc import Mapping

from ..errors import InvalidError
from ..model.redaction import HIDDEN
from ..storage.config import FOR, KEYS, Config
from ..storage.config_changes import set_value
from .answer import Answer, say


def list_values(given: argparse.Namespace, config: Config) -> Answer:
    """Show what is set."""
    values = {key: _shown(key, value) for key, value in config.values.items() if key != FOR}
    lines = [f"{key} = {value}" for key, value in values.items()]
    places = config.values.get(FOR)
    if isinstance(places, Mapping):
        shown = {place: _each(mine) for place, mine in places.items() if isinstance(mine, Mapping)}
        for place, mine in shown.items():
            lines += [f"{key} = {value} (for {place})" for key, value in mine.items()]
        values[FOR] = shown
    lines = lines or ["Nothing is set."]
    return Answer({"success": True, "path": str(config.path), "config": values}, say(*lines))


def list_keys(given: argparse.Namespace, config: Config) -> Answer:
    """Show what can be set."""
    keys = [{"key": name, "about": key.about, "default": key.default} for name, key in KEYS.items()]
    return Answer(
        {"success": True, "keys": keys},
        say(*(f"{name:24} {key.about}" for name, key in KEYS.items())),
    )


def get(given: argparse.Namespace, config: Config) -> Answer:
    """Show one setting or its default; a secret stays hidden."""
    if given.key not in KEYS:
        raise InvalidError(f"There is no setting {given.key!r}.", suggestions=["ctx config keys"])
    value = _shown(given.key, config.values.get(given.key, KEYS[given.key].default))
    data = {"success": True, "key": given.key, "value": value}
    return Answer(data, say("" if value is None else str(value)))


def change(given: argparse.Namespace, config: Config) -> Answer:
    """Change one setting."""
    text = sys.stdin.readline().rstrip("\r\n") if given.value == "-" else given.value
    value = _shown(given.key, set_value(config.path, given.key, text, given.place))
    data = {"success": True, "key": given.key, "value": value}
    return Answer(data, say(f"{given.key} = {value}"))


def unset(given: argparse.Namespace, config: Config) -> Answer:
    """Remove one setting."""
    set_value(config.path, given.key, None, given.place)
    return Answer(
        {"success": True, "key": given.key, "value": None}, say(f"{given.key} is not set.")
    )


def _each(values: Mapping[str, object]) -> dict[str, object]:
    return {key: _shown(key, value) for key, value in values.items()}


def _shown(key: str, value: object) -> object:
    secret = key not in KEYS or KEYS[key].secret  # what we do not know may be one
    return HIDDEN if secret and isinstance(value, str) and value else value
