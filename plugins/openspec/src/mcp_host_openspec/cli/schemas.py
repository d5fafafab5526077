"""`openspec schemas`: which workflow schemas there are."""

from argparse import Namespace

from ..service import workflow_shapes
from .output import print_json, say
from .roots import open_tree

_ORIGINS = {"project": " (project)", "user": " (user override)", "package": ""}


def run(options: Namespace) -> int:
    """List them by name."""
    places = open_tree(implicit=True).tree.schemas.places()
    if options.json:
        print_json(workflow_shapes.schemas(places))
        return 0
    say("Available schemas:", "")
    for place in places:
        say(
            f"  {place.name}{_ORIGINS[place.origin]}",
            f"    {place.schema.description}",
            f"    Artifacts: {' → '.join(one.id for one in place.schema.artifacts)}",
            "",
        )
    return 0
