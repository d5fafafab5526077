"""The options of every command that serves."""

from __future__ import annotations

from .records import Record
from .saved import Identity
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
_SWITCHES = {"--stdio": ("transport", "stdio"), "--no-catalogue": ("no_catalogue", True)}
_WITH_VALUE = (*CHOICES, "--root", "--config")


class Options(Record):
    """What a command line says: None where it says nothing."""

    transport: TransportName
    host: str | None = None
    port: int | None = None
    root: str | None = None
    config: str | None = None
    no_catalogue: bool = False
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
        if option in _SWITCHES:
            key, value = _SWITCHES[option]
            found[key] = value
        elif option in _WITH_VALUE and rest and _fits(option, rest[0]):
            found[option[2:].replace("-", "_")] = rest.pop(0)
        else:
            return None
    return Options(**found)


def _fits(option: str, value: str) -> bool:
    return value in CHOICES[option] if option in CHOICES else not value.startswith("-")


def add_options(parser: argparse.ArgumentParser, transport: TransportName) -> None:
    """Tell a parser of the options."""
    parser.add_argument(
        "--transport",
        choices=CHOICES["--transport"],
        default=transport,
        help=f"how clients connect ({transport} unless told)",
    )
    parser.add_argument(
        "--stdio",
        dest="transport",
        action="store_const",
        const="stdio",
        help="same as --transport stdio",
    )
    parser.add_argument("--host", help="address to listen on, with http")
    parser.add_argument("--port", type=_port, help="port to listen on, with http; 0: a free one")
    parser.add_argument("--root", help="the project's folder, for packs about a project")
    parser.add_argument("--config", help="the settings file")
    parser.add_argument(
        "--no-catalogue",
        action="store_true",
        help="neither show nor save what clients saw first when the server last started",
    )
    parser.add_argument("--log-level", choices=CHOICES["--log-level"])
    parser.add_argument("--log-format", choices=CHOICES["--log-format"])


def _port(text: str) -> int:
    import argparse

    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} must be a port: a number from 0 to 65535")
    return int(text)


def identity(program: str, source: str | None, given: Given) -> Identity | None:
    """Which saved catalogue belongs to a command line; None where it wants none."""
    if given.no_catalogue or given.transport == "http":
        return None
    root = absolute(given.root) if given.root else working_folder()
    return Identity(program, source, root)
