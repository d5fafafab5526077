"""The flags of the command, as the reference tool has them, and a few of our own."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from .. import __version__

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction["_Parser"]


class _Parser(argparse.ArgumentParser):
    """Ends with code 1 on wrong usage, as the reference tool does."""

    def error(self, message: str) -> NoReturn:
        self.print_usage()
        self.exit(1, f"error: {message}\n")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line; ends the program on wrong usage, help and version."""
    parser, commands = _parser()
    options, unknown = parser.parse_known_args(arguments)
    if options.command == "help":
        named = commands.choices.get(options.item or "", parser)
        named.print_help()
        parser.exit()
    if unknown and options.command != "show":
        parser.error(f"unknown option '{unknown[0]}'")
    return options


def _parser() -> tuple[argparse.ArgumentParser, "Commands"]:
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
    _show_flags(show)

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

    find = commands.add_parser("find", help="find requirements by what they say")
    find.add_argument("words", nargs="+")
    find.add_argument("--limit", type=_count, default=5, help="how many (default: 5)")

    diff = commands.add_parser("diff", help="show what archiving a change would do to the specs")
    diff.add_argument("item")

    rebase = commands.add_parser("rebase", help="rewrite a change's deltas onto today's specs")
    rebase.add_argument("item", nargs="?")
    rebase.add_argument("--all", action="store_true", help="all active changes")
    rebase.add_argument(
        "--mine", action="store_true", help="where both edited, keep the change's text"
    )

    unarchive = commands.add_parser("unarchive", help="take an archive back")
    unarchive.add_argument("item", help="an archived change, or the id of one")

    init = commands.add_parser("init", help="make a tree")
    init.add_argument("item", nargs="?", metavar="path")
    init.add_argument("--tools", help="assistants to point at it: all, none, or names")
    init.add_argument("--legacy", action="store_true", help="AGENTS.md and project.md, as in 0.x")
    init.add_argument("--force", action="store_true", help="accepted and without effect")
    init.add_argument("--profile", choices=("core", "custom"), help="accepted; core is written")
    for name in ("--no-animation", "--copilot-cloud", "--no-copilot-cloud"):
        init.add_argument(name, action="store_true", help=argparse.SUPPRESS)
    init.add_argument("--language", action=_NoLanguage, help=argparse.SUPPRESS)

    plain: list[argparse.ArgumentParser] = [
        listing,
        show,
        validate,
        archive,
        diff,
        rebase,
        unarchive,
        find,
        init,
    ]
    plain += _workflow(commands)
    nouns = _nouns(commands)

    # Listed for the help alone: `mcp` has the options of a server, which the host knows.
    commands.add_parser("mcp", help="serve the tree to assistants")
    helping = commands.add_parser("help", help="help for a command")
    helping.add_argument("item", nargs="?", metavar="command")

    for command in (*plain, *nouns):
        command.add_argument("--json", action="store_true", help="print JSON")
        if command is not init:
            command.add_argument("--store", action=_NoStore, help=argparse.SUPPRESS)
            command.add_argument("--store-path", action=_NoStore, help=argparse.SUPPRESS)
        command.add_argument("--no-interactive", action="store_true", help="ask nothing")
        command.add_argument("--project", metavar="FOLDER", help="a folder with another tree")
    for name in ("update", "config", "completion", "workset", "feedback"):
        refused = commands.add_parser(name, help="not supported; says what to do instead")
        refused.add_argument("rest", nargs=argparse.REMAINDER)
    return parser, commands


def _workflow(commands: "Commands") -> list[argparse.ArgumentParser]:
    """The commands that lead through a change."""
    status = commands.add_parser("status", help="how far the artifacts of a change are")
    status.add_argument("--change", help="the change's id")
    status.add_argument("--all", action="store_true", help="all active changes")
    status.add_argument("--schema", help="another schema than the change's own")

    instructions = commands.add_parser(
        "instructions", help="what is needed to write an artifact, to apply or to archive"
    )
    instructions.add_argument("item", nargs="?", metavar="artifact")
    instructions.add_argument("--change", help="the change's id")
    instructions.add_argument("--schema", help="another schema than the change's own")

    new = commands.add_parser("new", help="begin a change")
    change = new.add_subparsers(dest="verb", required=True, parser_class=_Parser).add_parser(
        "change", help="begin a change"
    )
    change.add_argument("name")
    change.add_argument("--description", help="text for a README.md")
    change.add_argument("--goal", help="what it is for, for its metadata")
    change.add_argument("--schema", help="the workflow schema it follows")

    templates = commands.add_parser("templates", help="where the templates of a schema are")
    templates.add_argument("--schema", help="default: spec-driven")
    schemas = commands.add_parser("schemas", help="list the workflow schemas")

    context = commands.add_parser("context", help="what belongs to the work on this tree")
    context.add_argument("--code-workspace", metavar="FILE", help="also write a workspace file")
    context.add_argument("--force", action="store_true", help="replace that file")
    doctor = commands.add_parser("doctor", help="whether the tree is sound")
    view = commands.add_parser("view", help="the tree on one page")
    store = commands.add_parser("store", help="list stores (there are none here)")
    verbs = ("list", "ls", "setup", "register", "unregister", "remove", "doctor")
    store.add_argument("verb", choices=verbs)
    store.add_argument("rest", nargs="*", help=argparse.SUPPRESS)
    return [status, instructions, change, templates, schemas, context, doctor, view, store]


def _nouns(commands: "Commands") -> list[argparse.ArgumentParser]:
    """`schema`, `spec` and `change`, each with verbs of its own."""
    schema = commands.add_parser("schema", help="where schemas come from, and your own")
    verbs = schema.add_subparsers(dest="verb", required=True, parser_class=_Parser)
    which = verbs.add_parser("which", help="where a schema comes from")
    which.add_argument("item", nargs="?", metavar="name")
    which.add_argument("--all", action="store_true")
    check = verbs.add_parser("validate", help="check a schema and its templates")
    check.add_argument("item", nargs="?", metavar="name")
    check.add_argument("--verbose", action="store_true", help="accepted and without effect")
    fork = verbs.add_parser("fork", help="copy a schema into the project")
    fork.add_argument("item", metavar="source")
    fork.add_argument("name", nargs="?")
    fork.add_argument("--force", action="store_true", help="replace one that is there")
    init = verbs.add_parser("init", help="make a schema in the project")
    init.add_argument("item", metavar="name")
    init.add_argument("--description")
    init.add_argument("--artifacts", default="proposal,specs,design,tasks")
    init.add_argument("--default", action="store_true", help=argparse.SUPPRESS)
    init.add_argument("--no-default", action="store_true", help="accepted and without effect")
    init.add_argument("--force", action="store_true", help="replace one that is there")
    made: list[argparse.ArgumentParser] = [which, check, fork, init]
    for noun in ("spec", "change"):
        verbs = commands.add_parser(noun, help=f"{noun} show, list and validate").add_subparsers(
            dest="verb", required=True, parser_class=_Parser
        )
        show = verbs.add_parser("show")
        show.add_argument("item", nargs="?")
        _show_flags(show)
        listing = verbs.add_parser("list")
        listing.add_argument("--long", action="store_true", help="with titles and counts")
        validate = verbs.add_parser("validate")
        validate.add_argument("item", nargs="?")
        validate.add_argument("--strict", action="store_true", help="warnings count as errors")
        made += [show, listing, validate]
    return made


def _show_flags(show: argparse.ArgumentParser) -> None:
    show.add_argument("--deltas-only", action="store_true")
    show.add_argument("--requirements-only", action="store_true", help=argparse.SUPPRESS)
    show.add_argument("--diff", action="store_true", help="MODIFIED against the main spec")
    show.add_argument("--requirements", action="store_true", help="a spec without its scenarios")
    show.add_argument("--no-scenarios", action="store_true", help="a spec without its scenarios")
    show.add_argument("-r", "--requirement", help="one requirement of a spec, counted from 1")


def _count(text: str) -> int:
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError("must be a number from 1 on")
    return int(text)


class _NoLanguage(argparse.Action):
    """The language belongs into the project's context, where every assistant reads it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        parser.error("--language is not supported; name it in the context of config.yaml")


class _NoStore(argparse.Action):
    """Stores are the reference tool's own; say so instead of using another tree."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        parser.error("stores are not supported; run the command in the tree, or set OPENSPEC_ROOT")
