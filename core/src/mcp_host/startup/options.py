"""The options of every command that serves."""

from __future__ import annotations

from .records import Record
from .saved import ServerIdentity
from .trust import absolute, working_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any, Literal, TypeAlias

    TransportName: TypeAlias = Literal["stdio", "http"]
    Given: TypeAlias = "Options | argparse.Namespace"
    """What was read, in either way: the names are the same."""

CHOICES = {
    "--transport": ("stdio", "http"),
    "--log-level": ("debug", "info", "warning", "error"),
    "--log-format": ("text", "json"),
}
HELP = {
    "--transport": "How clients connect.",
    "--stdio": "The same as --transport stdio.",
    "--host": "The address to listen on, with http.",
    "--port": "The port to listen on, with http; 0 takes a free one.",
    "--root": "The project's folder, for packs about a project.",
    "--config": "The settings file.",
    "--profile": "One of [profiles.NAME] of the settings: which packs, and whether read-only.",
    "--no-catalogue": "Neither show nor save what clients saw first when the server last started.",
    "--warm": "Have the one warm process serve, which all sessions share; with stdio, on Linux.",
    "--no-warm": "Serve in this process alone.",
    "--watch": "Heed changes of the settings file while it serves.",
    "--workers": "How many processes serve at one socket, with http; they keep no sessions.",
    "--log-level": "The least level that is logged.",
    "--log-format": "How the log is written.",
}
"""What each option is for; their values, where they have few, stand in `CHOICES`."""
SWITCHES = {
    "--stdio": ("transport", "stdio"),
    "--no-catalogue": ("no_catalogue", True),
    "--warm": ("warm", True),
    "--no-warm": ("warm", False),
    "--watch": ("watch", True),
}
"""What options without a value say: of a field of `Options`."""
MOST_WORKERS = 64
_WITH_VALUE = (*CHOICES, "--root", "--config", "--profile")


class Options(Record):
    """What a command line says: None where it says nothing."""

    transport: TransportName
    host: str | None = None
    port: int | None = None
    root: str | None = None
    config: str | None = None
    profile: str | None = None
    no_catalogue: bool = False
    warm: bool | None = None
    watch: bool = False
    workers: int | None = None
    log_level: str | None = None
    log_format: str | None = None


def quickly(arguments: Sequence[str], transport: TransportName) -> Options | None:
    """What an ordinary command line says; None where argparse must look at it.

    Importing argparse and telling it these options takes 5 ms, a tenth of the time in which a
    client has its first answer.
    """
    found: dict[str, Any] = {"transport": transport}
    rest = list(arguments)
    while rest:
        option = rest.pop(0)
        if option in SWITCHES:
            key, value = SWITCHES[option]
            found[key] = value
        elif option in _WITH_VALUE and rest and _fits(option, rest[0]):
            found[option[2:].replace("-", "_")] = rest.pop(0)
        else:
            return None
    return Options(**found)


def _fits(option: str, value: str) -> bool:
    return value in CHOICES[option] if option in CHOICES else not value.startswith("-")


def add_options(
    parser: argparse.ArgumentParser, transport: TransportName, *, watches: bool = False
) -> None:
    """Tell a parser of the options; `--watch` is one of those that read their settings again."""
    kinds: dict[str, dict[str, Any]] = {
        "--transport": {"default": transport},
        "--stdio": {"dest": "transport", "action": "store_const", "const": "stdio"},
        "--port": {"type": _port},
        "--no-catalogue": {"action": "store_true"},
        "--warm": {"action": "store_const", "const": True},
        "--no-warm": {"dest": "warm", "action": "store_const", "const": False},
        "--watch": {"action": "store_true"},
        "--workers": {"type": _count},
    }
    parser.set_defaults(watch=False, workers=None)
    for option, told in HELP.items():
        if option in ("--watch", "--workers") and not watches:
            continue
        how = kinds.get(option, {})
        if option in CHOICES:
            how = {"choices": CHOICES[option], **how}
        parser.add_argument(option, help=told, **how)


def _port(text: str) -> int:
    import argparse

    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} must be a port: a number from 0 to 65535")
    return int(text)


def _count(text: str) -> int:
    import argparse

    if not text.isdecimal() or not 1 <= int(text) <= MOST_WORKERS:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number from 1 to {MOST_WORKERS}")
    return int(text)


def identity(program: str, source: str | None, given: Given) -> ServerIdentity | None:
    """Which saved catalogue belongs to a command line; None where it wants none."""
    if given.no_catalogue or given.transport != "stdio":
        return None
    root = absolute(given.root) if given.root else working_folder()
    return ServerIdentity(program, source, root, given.profile or "")
