"""Commands of the reference tool that this one does not have, each with what to do instead."""

from argparse import Namespace

from .output import CommandError

_INSTEAD = {
    "workset": "Open the folders in your editor, or write a workspace file with: "
    "openspec context --code-workspace FILE",
    "update": "This command writes no files for assistants, so there are none to bring up to date.",
    "config": "There is no global configuration; the folder or OPENSPEC_ROOT chooses the tree.",
    "completion": "openspec help lists the commands, openspec help COMMAND its options.",
    "feedback": "Open an issue where this package is developed.",
}


def run(options: Namespace) -> int:
    """Refuse the command by name."""
    name = options.command
    raise CommandError("not_supported", f"'{name}' is not supported.", fix=_INSTEAD[name])
