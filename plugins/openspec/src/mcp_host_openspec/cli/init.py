"""`openspec init`."""

import os
from argparse import Namespace
from pathlib import Path

from ..errors import AlreadyInitialised, OpenSpecError
from ..service import OpenSpec, Root
from ..service.setting_up import TOOL_FILES
from ..storage.files import exists, is_folder
from ..storage.roots import from_environment
from .output import Failure, failure, print_json


def run(options: Namespace) -> int:
    """Make a tree in a folder; one that is there already is left as it is."""
    given = Path(options.item).absolute() if options.item else None
    if given is not None and exists(given) and not is_folder(given):
        raise Failure("init_error", f"{given} is a file, not a folder.")
    here = Path.cwd()
    root = None if given else from_environment(here, os.environ, Path.home())
    service = OpenSpec(root or Root(given or here, "configured"))
    try:
        created = service.init(_tools(options.tools))
    except AlreadyInitialised as error:
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
    print("Next: describe the project in openspec/project.md.")
    return 0


def _tools(given: str | None) -> tuple[str, ...]:
    if given in (None, "", "none"):
        return ()
    if given == "all":
        return tuple(TOOL_FILES)
    return tuple(name.strip() for name in given.split(","))
