"""`openspec new change`."""

from argparse import Namespace
from pathlib import Path

from ..errors import OpenSpecError
from ..service import shapes
from ..service.workflow import Workflow
from .output import CommandError, print_json, say
from .roots import open_tree


def run(options: Namespace) -> int:
    """Begin a change."""
    service = open_tree(implicit=True)
    try:
        made = Workflow(service.tree).new_change(
            options.name,
            schema=options.schema,
            goal=options.goal,
            description=options.description,
        )
    except OpenSpecError as error:
        raise CommandError("change_error", str(error), payload={"change": None}) from error
    if options.json:
        change = {
            "id": made.change,
            "path": str(made.folder),
            "metadataPath": str(made.folder / ".openspec.yaml"),
            "schema": made.schema,
        }
        print_json({"change": change, "root": shapes.root_of(service.root)})
        return 0
    here = Path.cwd()
    shown = made.folder.relative_to(here) if made.folder.is_relative_to(here) else made.folder
    say(
        f"Created change '{made.change}' at {shown}/",
        f"Schema: {made.schema}",
        f"Next: openspec status --change {made.change}",
    )
    if service.root.source == "implicit":
        say("", "There was no OpenSpec tree here, so one was made. Finish it with: openspec init")
    return 0
