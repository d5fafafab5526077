"""`openspec init`."""

import os
from argparse import Namespace
from collections.abc import Collection
from pathlib import Path

from ..errors import AlreadyInitialisedError, OpenSpecError
from ..service import OpenSpec, Root
from ..service.setup import SKILL_FOLDERS, TOOL_FILES
from ..storage.files import exists, is_folder
from ..storage.roots import from_environment
from .output import CommandError, failure, print_json


def run(options: Namespace) -> int:
    """Make a tree in a folder, or what one that is there lacks; with --legacy the older layout."""
    given = Path(options.item).absolute() if options.item else None
    if given is not None and exists(given) and not is_folder(given):
        raise CommandError("init_error", f"{given} is a file, not a folder.")
    here = Path.cwd()
    root = None if given else from_environment(here, os.environ, Path.home())
    service = OpenSpec(root or Root(given or here, "configured"))
    tools = _tools(options.tools, TOOL_FILES if options.legacy else SKILL_FOLDERS)
    try:
        created = service.init(tools) if options.legacy else service.init_current(tools)
    except AlreadyInitialisedError as error:
        if options.json:
            raise failure(error, "already_initialized", payload={"created": []}) from error
        print(f"{error} Nothing to do.")
        return 0
    except OpenSpecError as error:
        raise failure(error, "init_error") from error
    if options.json:
        print_json({"path": str(created.path), "created": list(created.files)})
        return 0
    print(f"OpenSpec is set up in {created.path}:")
    for name in created.files:
        print(f"  {name}")
    if not created.files:
        print("  nothing was missing")
    described = "project.md" if options.legacy else "config.yaml, as its context"
    print(f"Next: describe the project in openspec/{described}.")
    return 0


def _tools(given: str | None, known: Collection[str]) -> tuple[str, ...]:
    """The assistants that are named; an error for one that is not known."""
    if given in (None, "none"):
        return ()
    if given == "all":
        return tuple(known)
    names = tuple(name.strip() for name in given.split(","))
    if unknown := [name for name in names if name not in known]:
        raise CommandError(
            "init_error",
            f"Invalid tool(s): {', '.join(unknown)}.",
            fix=f"Name some of: all, none, {', '.join(known)}.",
        )
    return names
