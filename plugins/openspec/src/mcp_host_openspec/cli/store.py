"""`openspec store`: the reference tool's stores; here there are none, and nothing makes one."""

from argparse import Namespace
from typing import Final

from .output import CommandError, Data, print_json, say

_EMPTY: Final[dict[str, Data]] = {
    "archive": {"archive": None},
    "context": {"root": None, "members": []},
    "doctor": {"root": None, "store": None, "references": []},
    "list": {"changes": [], "root": None},
    "new": {"change": None},
    "schemas": {"schemas": [], "root": None},
}
"""What the JSON of a command holds beside the status where its store is refused."""


def run(options: Namespace) -> int:
    """List no stores; refuse the rest by name."""
    if options.verb in ("list", "ls"):
        if options.json:
            print_json({"stores": [], "status": []})
        else:
            say("No stores registered.")
        return 0
    raise CommandError(
        "stores_not_supported",
        f"'store {options.verb}' is about several repositories, which this command does not do.",
        fix="Work in the repository's own tree, or name another with OPENSPEC_ROOT.",
        payload={"store": None},
    )


def refusal(options: Namespace) -> CommandError:
    """Why a command that names a store is not run: it must not use another tree instead."""
    payload = _EMPTY.get(options.command, {})
    if options.command == "list" and options.specs:
        payload = {"specs": [], "root": None}
    named = options.store or options.store_path
    return CommandError(
        "no_registered_stores" if options.store else "store_path_not_supported",
        f"Store '{named}' is not known: this command has no stores.",
        target="store.id",
        fix="Leave --store out and run the command in the tree, or name one with --project.",
        payload=payload,
    )
