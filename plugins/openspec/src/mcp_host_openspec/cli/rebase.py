"""`openspec rebase`: rewrite the deltas of changes onto the specs of today."""

from argparse import Namespace

from ..errors import OpenSpecError
from ..service import OpenSpec, shapes
from ..service.rebases import Rebased
from .output import CommandError, Data, complain, failure, print_json, say
from .roots import open_tree


def run(options: Namespace) -> int:
    """Rebase one change, or all; ends with 1 where something conflicts."""
    if (options.item is None) != options.all:
        raise CommandError(
            "rebase_request_invalid",
            "Name one change, or give --all.",
            fix="openspec rebase <change> | --all",
        )
    service = open_tree(implicit=True)
    payload: Data = {"rebased": None, "root": shapes.root_of(service.root)}
    try:
        done = list(_rebased(service, options))
    except OpenSpecError as error:
        raise failure(error, error.details["reason"], payload=payload) from error
    if options.json:
        print_json({**payload, "rebased": [shapes.rebased(one) for one in done]})
    else:
        for one in done:
            _print(one)
    return int(any(one.conflicts for one in done))


def _rebased(service: OpenSpec, options: Namespace) -> list[Rebased]:
    changes = service.change_ids() if options.all else [options.item]
    return [service.rebase(change, mine=options.mine) for change in changes]


def _print(done: Rebased) -> None:
    for name in done.merged:
        say(f"{done.change}: merged {name}")
    for name in done.kept:
        say(f"{done.change}: kept {name}")
    for loss in done.conflicts:
        complain(f"{done.change}: conflict in {loss.warning}")
        for side in loss.sides:
            complain(
                f"<<<<<<< spec ({side.part})", side.spec, "=======", side.change, ">>>>>>> change"
            )
    if not (done.merged or done.kept or done.conflicts):
        say(f"{done.change}: nothing to do")
