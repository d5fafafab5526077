"""`openspec unarchive`: take an archive back."""

from argparse import Namespace

from ..errors import OpenSpecError
from ..service import shapes
from .output import Data, failure, print_json, say
from .roots import open_tree


def run(options: Namespace) -> int:
    """Give the specs their old text, and make the change active again."""
    service = open_tree(implicit=True)
    payload: Data = {"unarchived": None, "root": shapes.root_of(service.root)}
    try:
        done = service.unarchive(options.item)
    except OpenSpecError as error:
        raise failure(error, error.details["reason"], payload=payload) from error
    if options.json:
        facts = {"change": done.change, "archivedAs": done.archived, "specs": done.capabilities}
        print_json({**payload, "unarchived": facts})
    else:
        for capability in done.capabilities:
            say(f"{capability}: as it was before")
        say(f"Change '{done.change}' is active again.")
    return 0
