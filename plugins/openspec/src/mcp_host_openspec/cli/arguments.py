"""The flags of the command, as the reference tool has them, and a few of our own."""

import argparse
from collections.abc import Sequence
from typing import NoReturn

from .. import __version__


class _Parser(argparse.ArgumentParser):
    """Ends with code 1 on wrong usage, as the reference tool does."""

    def error(self, message: str) -> NoReturn:
        self.print_usage()
        self.exit(1, f"error: {message}\n")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line; ends the program on wrong usage, help and version."""
    parser = _parser()
    options, unknown = parser.parse_known_args(arguments)
    if unknown and options.command != "show":
        parser.error(f"unknown option '{unknown[0]}'")
    return options


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="openspec", description="Spec-driven development on OpenSpec trees.")
    parser.add_argument(
        "-V", "--version", action="version", version=__version__, help="print the version"
    )
    parser.add_argument("--no-color", action="store_true", help="no colour (there is none)")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)

    listing = commands.add_parser("list", help="list the changes, or the specs")
    listing.add_argument("--specs", action="store_true", help="the specs")
    listing.add_argument("--changes", action="store_true", help="the changes (as without)")
    listing.add_argument("--sort", default="recent", help="recent (default) or name")

    show = commands.add_parser("show", help="show a change or a spec")
    show.add_argument("item", nargs="?")
    show.add_argument("--type", help="change or spec")
    show.add_argument("--deltas-only", action="store_true")
    show.add_argument("--requirements-only", action="store_true", help=argparse.SUPPRESS)
    show.add_argument("--diff", action="store_true", help="MODIFIED against the main spec")
    show.add_argument("--requirements", action="store_true", help="a spec without its scenarios")
    show.add_argument("--no-scenarios", action="store_true", help="a spec without its scenarios")
    show.add_argument("-r", "--requirement", help="one requirement of a spec, counted from 1")

    validate = commands.add_parser("validate", help="validate a change or a spec, or all of them")
    validate.add_argument("item", nargs="?")
    validate.add_argument("--all", action="store_true")
    validate.add_argument("--changes", action="store_true")
    validate.add_argument("--specs", action="store_true")
    validate.add_argument("--archived", action="store_true", help="open tasks of archived changes")
    validate.add_argument("--report", help="full or findings, with many items")
    validate.add_argument("--type", help="change or spec")
    validate.add_argument("--strict", action="store_true", help="warnings count as errors")
    validate.add_argument("--concurrency", help="accepted and without effect")

    archive = commands.add_parser("archive", help="merge a change's deltas and archive it")
    archive.add_argument("item", nargs="?")
    archive.add_argument("-y", "--yes", action="store_true", help="no questions; open tasks too")
    archive.add_argument("--skip-specs", action="store_true", help="leave the specs alone")
    archive.add_argument("--no-validate", action="store_true")
    archive.add_argument("--dry-run", action="store_true", help="show what would happen")
    archive.add_argument(
        "--accept", action="append", default=[], metavar="LOSS", help="accept a loss: L2, L3, …"
    )

    init = commands.add_parser("init", help="make a tree")
    init.add_argument("item", nargs="?", metavar="path")
    init.add_argument("--tools", help="assistants to point at it: all, none, or names")
    init.add_argument("--force", action="store_true", help="accepted and without effect")

    # Listed for the help alone: `mcp` has the options of a server, which the host knows.
    commands.add_parser("mcp", help="serve the tree to assistants")

    for command in (listing, show, validate, archive, init):
        command.add_argument("--json", action="store_true", help="print JSON")
        command.add_argument("--no-interactive", action="store_true", help="ask nothing")
        if command is not init:
            command.add_argument("--store", action=_NoStore, help=argparse.SUPPRESS)
    return parser


class _NoStore(argparse.Action):
    """Stores are the reference tool's own; say so instead of using another tree."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        parser.error("stores are not supported; run the command in the tree, or set OPENSPEC_ROOT")
