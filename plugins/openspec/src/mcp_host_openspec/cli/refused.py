"""Commands of the reference tool that this one does not have, each with what to do instead."""

from argparse import Namespace

from .output import CommandError

_INSTEAD = {
    "workset": "Open the folders in your editor, or write a workspace file with: "
    "openspec context --code-workspace FILE",
    "feedback": "Open an issue where this package is developed.",
}


def run(options: Namespace) -> int:
    """Refuse the command by name."""
    name = options.command
    raise CommandError("not_supported", f"'{name}' is not supported.", fix=_INSTEAD[name])
