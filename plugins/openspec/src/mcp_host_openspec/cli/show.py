"""`openspec show`."""

from argparse import Namespace

from ..errors import AmbiguousError, IncompleteError, InvalidNameError, NotFoundError, OpenSpecError
from ..service import OpenSpec, shapes
from ..service.views import DeltaEntry
from .output import CommandError, complain, failure, print_json
from .roots import open_tree

_FOR_CHANGES = ("deltas_only", "requirements_only", "diff")
_FOR_SPECS = ("requirements", "no_scenarios", "requirement")


def run(options: Namespace) -> int:
    """Show a change or a spec, as text or as JSON."""
    service = open_tree(implicit=True)
    if options.item is None:
        complain(
            "Nothing to show. Name an item:",
            "  openspec show <item>",
            "  openspec show <item> --type change|spec",
        )
        return 1
    try:
        kind = kind_of(service, options.item, options.type)
        _warn_of_useless(options, _FOR_SPECS if kind == "change" else _FOR_CHANGES, kind)
        if kind == "change":
            _change(service, options)
        else:
            _spec(service, options)
    except OpenSpecError as error:
        if isinstance(error, IncompleteError):
            raise CommandError("show_error", f"{options.item}: {error}") from error
        raise failure(error, "show_error") from error
    return 0


def kind_of(service: OpenSpec, name: str, given: str | None) -> str:
    """What a name means: what was said it means, else what there is."""
    if (given or "").lower() in ("change", "spec"):
        return (given or "").lower()
    try:
        service.check_all_specs()  # the reference tool ends where one may not look
        return service.kind_of(name)
    except NotFoundError as missing:
        raise failure(missing, "unknown_item") from missing
    except AmbiguousError as error:
        raise failure(error, error.reason) from error


def _change(service: OpenSpec, options: Namespace) -> None:
    view = service.change(options.item, diffs=options.diff)
    if view.proposal is None or (options.json and view.incomplete):
        raise CommandError("show_error", view.incomplete or "")
    if not options.json:
        print(view.proposal)
        if options.diff:
            _print_diffs(view.deltas)
        return
    if options.requirements_only:
        complain("--requirements-only is the old name of --deltas-only.")
    print_json({**shapes.change_view(view), "root": shapes.root_of(service.root)})


def _print_diffs(deltas: tuple[DeltaEntry, ...]) -> None:
    for entry in deltas:
        print(f"\n{entry.capability}: {entry.operation} {entry.name}")
        if entry.warning:
            print(f"  {entry.warning}")
        if entry.diff:
            print(entry.diff)


def _spec(service: OpenSpec, options: Namespace) -> None:
    try:
        spec = service.spec(options.item)
    except InvalidNameError as error:
        raise failure(error, "show_error") from error
    if not options.json:
        print(spec.text)
        return
    if options.requirements and options.requirement:
        raise CommandError("show_error", "--requirements and --requirement exclude each other.")
    spec.check_readable()
    chosen = None
    if options.requirement is not None:
        number = int(options.requirement) if options.requirement.isdecimal() else 0
        if not 1 <= number <= len(spec.requirements):
            raise CommandError("show_error", f"Requirement {options.requirement} not found.")
        chosen = [spec.requirements[number - 1]]
    scenarios = not (options.requirements or options.no_scenarios)
    view = shapes.spec_view(options.item, spec, chosen, scenarios=scenarios)
    print_json({**view, "root": shapes.root_of(service.root)})


def _warn_of_useless(options: Namespace, flags: tuple[str, ...], kind: str) -> None:
    useless = [flag for flag in flags if getattr(options, flag)]
    if useless:
        complain(f"Warning: these flags mean nothing for a {kind}: {', '.join(useless)}")
