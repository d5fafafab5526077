"""`openspec find`: is this required already?"""

from argparse import Namespace

from ..errors import OpenSpecError
from ..service import shapes
from ..service.search import Search
from .output import failure, print_json, say
from .roots import open_tree


def run(options: Namespace) -> int:
    """Print the requirements that say most of what is asked for; ends with 1 where none does."""
    service = open_tree(implicit=True)
    try:
        found = Search(service.tree).find(" ".join(options.words), options.limit)
    except OpenSpecError as error:
        raise failure(error, "find_error", payload={"matches": []}) from error
    if options.json:
        root = shapes.root_of(service.root)
        print_json({"matches": [shapes.match(one) for one in found], "root": root})
    for one in () if options.json else found:
        say(f"{one.capability}: {one.requirement}", f"  {one.excerpt}")
    if not found and not options.json:
        say("No requirement says this.")
    return 0 if found else 1
