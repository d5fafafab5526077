"""`openspec diff`: what archiving a change would do to the specs."""

from argparse import Namespace

from ..errors import OpenSpecError
from ..service import shapes
from ..service.archive_plan import Options
from .output import failure, print_json, say
from .roots import open_tree


def run(options: Namespace) -> int:
    """Print the diffs of all specs that an archive of the change would write."""
    service = open_tree(implicit=True)
    try:
        plan = service.plan_archive(options.item, Options(force=True))
    except OpenSpecError as error:
        raise failure(error, error.details["reason"], payload={"diffs": None}) from error
    diffs = {spec.capability: spec.diff for spec in plan.specs if spec.diff}
    if options.json:
        root = shapes.root_of(service.root)
        print_json({"change": plan.change, "diffs": diffs, "root": root})
        return 0
    for diff in diffs.values():
        say(diff.removesuffix("\n"))
    if not diffs:
        say(f"Archiving '{plan.change}' changes no spec.")
    return 0
