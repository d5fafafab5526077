"""`openspec templates`: where the templates of a schema are."""

from argparse import Namespace
from pathlib import Path

from ..errors import OpenSpecError
from ..service import OpenSpec, Root, workflow_shapes
from .output import failure, print_json, say
from .roots import own_schemas


def run(options: Namespace) -> int:
    """Print a path for each artifact; as in the reference tool, the project is this folder."""
    service = OpenSpec(Root(Path.cwd(), "implicit"), user_schemas=own_schemas())
    try:
        place = service.tree.schemas.place(options.schema or "spec-driven")
    except OpenSpecError as error:
        raise failure(error, "change_error") from error
    templates = workflow_shapes.templates(place)
    if options.json:
        print_json(templates)
        return 0
    say(f"Schema: {place.name}", f"Source: {place.origin}", "")
    for name, template in templates.items():
        say(f"{name}:", f"  {template['path']}")
    return 0
