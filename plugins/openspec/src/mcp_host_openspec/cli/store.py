"""`openspec store`: the reference tool's stores; here there are none, and nothing makes one."""

from argparse import Namespace

from .output import CommandError, print_json, say


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
