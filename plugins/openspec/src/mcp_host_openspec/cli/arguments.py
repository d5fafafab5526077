"""The flags of the command, as the reference tool has them, and a few of our own.

A parser is built for the one command that is run: the others need not cost anything.
"""

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NoReturn

from .. import __version__

if TYPE_CHECKING:
    Verbs = argparse._SubParsersAction["_Parser"]

Parser = argparse.ArgumentParser


class _Parser(argparse.ArgumentParser):
    """Ends with code 1 on wrong usage, as the reference tool does."""

    def error(self, message: str) -> NoReturn:
        self.print_usage()
        self.exit(1, f"error: {message}\n")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line; ends the program on wrong usage, help and version."""
    place = next((i for i, word in enumerate(arguments) if not word.startswith("-")), None)
    name = None if place is None else arguments[place]
    if name not in COMMANDS or set(arguments[:place]) - {"--no-color"}:
        _top().parse_args(arguments)  # ends here: help, version or wrong usage
    assert name is not None and place is not None
    rest = arguments[place + 1 :]
    if name == "help" or (rest[:1] == ["help"] and name in _WITH_VERBS):
        _help(rest if name == "help" else [name, *rest[1:]])
    options, unknown = _parser(name).parse_known_args(rest)
    if unknown and name != "show":
        _parser(name).error(f"unknown option '{unknown[0]}'")
    return options


def command_line(words: Sequence[str]) -> tuple[Parser, dict[str, str]]:
    """The parser that is in charge after some words, and the verbs that may come next."""
    parser: Parser = _top()
    verbs = {name: text for name, (text, _) in COMMANDS.items()}
    for word in words:
        if word.startswith("-") or word not in verbs:
            continue
        parser = _parser(word) if word in COMMANDS and verbs.keys() == COMMANDS.keys() else (
            _choices(parser)[word]
        )  # fmt: skip
        verbs = {name: inner.description or "" for name, inner in _choices(parser).items()}
    return parser, verbs


def _choices(parser: Parser) -> dict[str, Parser]:
    """The verbs of a command that has such."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _help(words: Sequence[str]) -> NoReturn:
    """Print the help of a command, or of all; end with 1 where there is no such command."""
    name = words[0] if words else None
    if name is not None and name not in COMMANDS:
        _top().error(f"unknown command '{name}'")
    parser = _top() if name is None else command_line(words)[0]
    parser.print_help()
    parser.exit()


def _top() -> Parser:
    """The command as a whole: what it knows by name, and none of their flags."""
    parser = _Parser(prog="openspec", description="Spec-driven development on OpenSpec trees.")
    parser.add_argument(
        "-V", "--version", action="version", version=__version__, help="print the version"
    )
    parser.add_argument("--no-color", action="store_true", help="no colour (there is none)")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    for name, (text, _) in COMMANDS.items():
        commands.add_parser(name, help=text)
    return parser


def _parser(name: str) -> Parser:
    """The parser of one command."""
    text, build = COMMANDS[name]
    parser = _Parser(prog=f"openspec {name}", description=f"{text[0].upper()}{text[1:]}.")
    parser.set_defaults(command=name)
    build(parser)
    return parser


def _common(parser: Parser, *, store: bool = True, json: bool = True) -> None:
    """The flags that every command has."""
    if json:
        parser.add_argument("--json", action="store_true", help="print JSON")
    if store:
        parser.add_argument("--store", help=argparse.SUPPRESS)
        parser.add_argument("--store-path", help=argparse.SUPPRESS)
    parser.add_argument("--no-interactive", action="store_true", help="ask nothing")
    parser.add_argument("--no-color", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--project", metavar="FOLDER", help="a folder with another tree")


def _verbs(parser: Parser) -> "Verbs":
    return parser.add_subparsers(dest="verb", required=True, parser_class=_Parser)


def _verb(verbs: "Verbs", name: str, text: str, *, json: bool = True) -> Parser:
    verb = verbs.add_parser(name, help=text, description=text)
    _common(verb, json=json)
    return verb


def _init(init: Parser) -> None:
    init.add_argument("item", nargs="?", metavar="path")
    init.add_argument("--tools", help="assistants to set up: all, none, or names with commas")
    init.add_argument("--language", help="write artifacts in this language")
    init.add_argument("--legacy", action="store_true", help="AGENTS.md and project.md, as in 0.x")
    init.add_argument("--force", action="store_true", help="accepted; nothing is removed")
    init.add_argument("--profile", help="core or custom, in place of the configured one")
    init.add_argument(
        "--copilot-cloud",
        action=argparse.BooleanOptionalAction,
        help="files for GitHub Copilot's agent in the cloud",
    )
    init.add_argument("--no-animation", action="store_true", help=argparse.SUPPRESS)
    _common(init, store=False)


def _update(update: Parser) -> None:
    update.add_argument("item", nargs="?", metavar="path")
    update.add_argument("--force", action="store_true", help="also what is up to date")
    _common(update, store=False, json=False)


def _list(listing: Parser) -> None:
    listing.add_argument("--specs", action="store_true", help="the specs")
    listing.add_argument("--changes", action="store_true", help="the changes (as without)")
    listing.add_argument("--sort", default="recent", help="recent (default) or name")
    _common(listing)


def _show(show: Parser) -> None:
    show.add_argument("item", nargs="?")
    show.add_argument("--type", help="change or spec")
    _show_flags(show)
    _common(show)


def _show_flags(show: Parser) -> None:
    show.add_argument("--deltas-only", action="store_true")
    show.add_argument("--requirements-only", action="store_true", help=argparse.SUPPRESS)
    show.add_argument("--diff", action="store_true", help="MODIFIED against the main spec")
    show.add_argument("--requirements", action="store_true", help="a spec without its scenarios")
    show.add_argument("--no-scenarios", action="store_true", help="a spec without its scenarios")
    show.add_argument("-r", "--requirement", help="one requirement of a spec, counted from 1")


def _validate(validate: Parser) -> None:
    validate.add_argument("item", nargs="?")
    validate.add_argument("--all", action="store_true")
    validate.add_argument("--changes", action="store_true")
    validate.add_argument("--specs", action="store_true")
    validate.add_argument("--archived", action="store_true", help="open tasks of archived changes")
    validate.add_argument("--report", help="full or findings, with many items")
    validate.add_argument("--type", help="change or spec")
    validate.add_argument("--strict", action="store_true", help="warnings count as errors")
    validate.add_argument("--concurrency", help="accepted and without effect")
    _common(validate)


def _archive(archive: Parser) -> None:
    archive.add_argument("item", nargs="?")
    archive.add_argument("-y", "--yes", action="store_true", help="no questions; open tasks too")
    archive.add_argument("--skip-specs", action="store_true", help="leave the specs alone")
    archive.add_argument("--no-validate", action="store_true")
    archive.add_argument("--dry-run", action="store_true", help="show what would happen")
    archive.add_argument(
        "--accept", action="append", default=[], metavar="LOSS", help="accept a loss: L2, L3, …"
    )
    _common(archive)


def _find(find: Parser) -> None:
    find.add_argument("words", nargs="+")
    find.add_argument("--limit", type=_count, default=5, help="how many (default: 5)")
    _common(find)


def _coverage(coverage: Parser) -> None:
    coverage.add_argument("item", nargs="*", metavar="capability")
    coverage.add_argument(
        "--tests", action="append", default=[], metavar="PATH", help="where tests are; repeatable"
    )
    coverage.add_argument(
        "--junit",
        action="append",
        default=[],
        metavar="FILE",
        help="a report of a run, JUnit XML, or a pattern of such; repeatable",
    )
    coverage.add_argument(
        "--fail-under", type=float, default=0.0, metavar="N", help="end with 1 below N per cent"
    )
    _common(coverage)


def _diff(diff: Parser) -> None:
    diff.add_argument("item")
    _common(diff)


def _rebase(rebase: Parser) -> None:
    rebase.add_argument("item", nargs="?")
    rebase.add_argument("--all", action="store_true", help="all active changes")
    rebase.add_argument(
        "--mine", action="store_true", help="where both edited, keep the change's text"
    )
    _common(rebase)


def _unarchive(unarchive: Parser) -> None:
    unarchive.add_argument("item", help="an archived change, or the id of one")
    _common(unarchive)


def _status(status: Parser) -> None:
    status.add_argument("--change", help="the change's id")
    status.add_argument("--all", action="store_true", help="all active changes")
    status.add_argument("--schema", help="another schema than the change's own")
    _common(status)


def _instructions(instructions: Parser) -> None:
    instructions.add_argument("item", nargs="?", metavar="artifact")
    instructions.add_argument("--change", help="the change's id")
    instructions.add_argument("--schema", help="another schema than the change's own")
    _common(instructions)


def _new(new: Parser) -> None:
    change = _verb(_verbs(new), "change", "begin a change")
    change.add_argument("name")
    change.add_argument("--description", help="text for a README.md")
    change.add_argument("--goal", help="what it is for, for its metadata")
    change.add_argument("--schema", help="the workflow schema it follows")


def _templates(templates: Parser) -> None:
    templates.add_argument("--schema", help="default: spec-driven")
    _common(templates)


def _context(context: Parser) -> None:
    context.add_argument("--code-workspace", metavar="FILE", help="also write a workspace file")
    context.add_argument("--force", action="store_true", help="replace that file")
    _common(context)


def _store(store: Parser) -> None:
    verbs = ("list", "ls", "setup", "register", "unregister", "remove", "doctor")
    store.add_argument("verb", choices=verbs)
    store.add_argument("rest", nargs="*", help=argparse.SUPPRESS)
    _common(store)


def _schema(schema: Parser) -> None:
    verbs = _verbs(schema)
    which = _verb(verbs, "which", "where a schema comes from")
    which.add_argument("item", nargs="?", metavar="name")
    which.add_argument("--all", action="store_true")
    check = _verb(verbs, "validate", "check a schema and its templates")
    check.add_argument("item", nargs="?", metavar="name")
    check.add_argument("--verbose", action="store_true", help="accepted and without effect")
    fork = _verb(verbs, "fork", "copy a schema into the project")
    fork.add_argument("item", metavar="source")
    fork.add_argument("name", nargs="?")
    fork.add_argument("--force", action="store_true", help="replace one that is there")
    init = _verb(verbs, "init", "make a schema in the project")
    init.add_argument("item", metavar="name")
    init.add_argument("--description")
    init.add_argument("--artifacts", default="proposal,specs,design,tasks")
    init.add_argument(
        "--default",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="make it the project's schema, in config.yaml",
    )
    init.add_argument("--force", action="store_true", help="replace one that is there")


def _noun(parser: Parser) -> None:
    verbs = _verbs(parser)
    show = _verb(verbs, "show", "show one")
    show.add_argument("item", nargs="?")
    _show_flags(show)
    listing = _verb(verbs, "list", "list all")
    listing.add_argument("--long", action="store_true", help="with titles and counts")
    validate = _verb(verbs, "validate", "validate one")
    validate.add_argument("item", nargs="?")
    validate.add_argument("--strict", action="store_true", help="warnings count as errors")


def _config(config: Parser) -> None:
    config.add_argument("--scope", help="global, which is all there is")
    verbs = _verbs(config)
    _verb(verbs, "path", "where the settings are kept", json=False)
    _verb(verbs, "list", "show all settings")
    _verb(verbs, "get", "print one setting", json=False).add_argument("key")
    change = _verb(verbs, "set", "set one", json=False)
    change.add_argument("key")
    change.add_argument("value")
    change.add_argument("--string", action="store_true", help="the value is a text")
    change.add_argument("--allow-unknown", action="store_true", help="also a key not known here")
    _verb(verbs, "unset", "go back to the default of one", json=False).add_argument("key")
    reset = _verb(verbs, "reset", "go back to all defaults", json=False)
    reset.add_argument("--all", action="store_true", help="required")
    reset.add_argument("-y", "--yes", action="store_true", help="ask nothing")
    _verb(verbs, "edit", "open the settings in $EDITOR", json=False)
    profile = _verb(verbs, "profile", "choose the workflows that assistants get", json=False)
    profile.add_argument("preset", nargs="?", help="core")


def _completion(completion: Parser) -> None:
    verbs = _verbs(completion)
    for name, text in (
        ("generate", "print the script of a shell"),
        ("install", "install it"),
        ("uninstall", "remove it"),
    ):
        verb = _verb(verbs, name, text, json=False)
        verb.add_argument("shell", nargs="?", help="bash, zsh, fish or powershell")
        verb.add_argument("-y", "--yes", action="store_true", help="ask nothing")
        verb.add_argument("--verbose", action="store_true", help="accepted and without effect")


def _refused(parser: Parser) -> None:
    parser.add_argument("rest", nargs=argparse.REMAINDER)


def _nothing(_: Parser) -> None:
    """`mcp` has the options of a server, which the host knows; `help` is read by itself."""


COMMANDS: Final[dict[str, tuple[str, Callable[[Parser], None]]]] = {
    "init": ("make a tree, and set up assistants", _init),
    "update": ("bring the files of assistants up to date", _update),
    "list": ("list the changes, or the specs", _list),
    "show": ("show a change or a spec", _show),
    "view": ("the tree on one page", _common),
    "validate": ("validate a change or a spec, or all of them", _validate),
    "find": ("find requirements by what they say", _find),
    "coverage": ("which scenarios have tests", _coverage),
    "new": ("begin a change", _new),
    "status": ("how far the artifacts of a change are", _status),
    "instructions": ("what is needed to write an artifact, to apply or to archive", _instructions),
    "archive": ("merge a change's deltas and archive it", _archive),
    "diff": ("show what archiving a change would do to the specs", _diff),
    "rebase": ("rewrite a change's deltas onto today's specs", _rebase),
    "unarchive": ("take an archive back", _unarchive),
    "context": ("what belongs to the work on this tree", _context),
    "doctor": ("whether the tree is sound", _common),
    "schemas": ("list the workflow schemas", _common),
    "templates": ("where the templates of a schema are", _templates),
    "schema": ("where schemas come from, and your own", _schema),
    "spec": ("show, list and validate specs: the older spelling", _noun),
    "change": ("show, list and validate changes: the older spelling", _noun),
    "config": ("your own settings for all projects", _config),
    "completion": ("completion in the shell", _completion),
    "store": ("list stores (there are none here)", _store),
    "mcp": ("serve the tree to assistants", _nothing),
    "workset": ("not supported; says what to do instead", _refused),
    "feedback": ("not supported; says what to do instead", _refused),
    "help": ("help for a command", _nothing),
}
"""Every command with a line about it, and what builds its parser."""

_WITH_VERBS: Final = ("new", "schema", "spec", "change", "config", "completion")


def _count(text: str) -> int:
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError("must be a number from 1 on")
    return int(text)
