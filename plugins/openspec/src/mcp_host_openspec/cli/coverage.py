"""`openspec coverage`: which scenarios have tests."""

from argparse import Namespace

from ..errors import OpenSpecError
from ..service.coverage import Coverage, coverage_of, gone_row, requirement_row, summary
from .output import complain, failure, print_json, say
from .roots import open_tree


def run(options: Namespace) -> int:
    """Tell what is covered; ends with 1 where that is less than --fail-under."""
    service = open_tree(implicit=False)
    try:
        service.tree.check_there()
        found = coverage_of(service, only=options.item, tests=options.tests, reports=options.junit)
    except OpenSpecError as error:
        raise failure(error, "coverage_error") from error
    enough = found.percent >= options.fail_under
    if options.json:
        rows = [requirement_row(row, with_tests=True) for row in found.requirements]
        gone = [gone_row(*one) for one in found.gone]
        print_json({"summary": summary(found), "requirements": rows, "gone": gone})
    else:
        _print(found)
    if not enough:
        complain(f"Coverage is {found.percent} %, and must be at least {options.fail_under:g} %.")
    return 0 if enough else 1


def _print(found: Coverage) -> None:
    capability = None
    for row in found.requirements:
        if row.capability != capability:
            capability = row.capability
            say(capability)
        covered = sum(map(row.is_covered, row.scenarios))
        sign = "✓" if covered == len(row.scenarios) else "✗"
        say(f"  {sign} {row.requirement}  {covered}/{len(row.scenarios)}")
        for name in row.scenarios:
            if not row.is_covered(name):
                say(f"      {name}: {row.state(name) or 'no test'}")
    if found.gone:
        say("", "Tests of what is not in the specs:")
        say(*(f"  {told['at']}  {told['marker']}: {told['problem']}" for told in _gone(found)))
    say("", f"{found.covered} of {found.total} scenarios are covered ({found.percent} %)")


def _gone(found: Coverage) -> list[dict[str, str]]:
    return [gone_row(*one) for one in found.gone]
