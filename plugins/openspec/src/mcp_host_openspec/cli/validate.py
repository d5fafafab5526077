"""`openspec validate`."""

import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import InvalidNameError, OpenSpecError
from ..model.findings import Report
from ..model.names import check_capability, check_change_id
from ..service import OpenSpec, shapes
from .output import CommandError, complain, failure, print_json, say
from .roots import open_tree
from .show import kind_of

_SIGNS = {"ERROR": "✗", "WARNING": "⚠", "INFO": "ℹ"}


def run(options: Namespace) -> int:
    """Validate one item, or many."""
    bulk = options.all or options.changes or options.specs
    _check_report(options, bulk=bulk)
    service = open_tree(implicit=not bulk)
    try:
        if options.archived:
            return _archived(service, options)
        if bulk:
            return _many(service, options)
        if options.item is None:
            complain(
                "Nothing to validate. Name an item, or all of them:",
                "  openspec validate <item>",
                "  openspec validate --all | --changes | --specs",
            )
            return 1
        return _one(service, options)
    except OpenSpecError as error:
        raise failure(error, "validate_error") from error


def _check_report(options: Namespace, *, bulk: bool) -> None:
    if options.report is None:
        return
    problem = None
    if options.report not in ("full", "findings"):
        problem = f"--report is 'full' or 'findings', not '{options.report}'."
    elif options.item is not None:
        problem = "--report goes with many items, not with one."
    elif options.archived and bulk:
        problem = "--report covers either active or archived items."
    elif not options.archived and not bulk:
        problem = "--report needs --all, --changes, --specs or --archived."
    if problem:
        raise CommandError(
            "invalid_validation_report_request",
            problem,
            fix="Use --report full|findings with one of --all, --changes, --specs, --archived.",
        )


def _one(service: OpenSpec, options: Namespace) -> int:
    kind = kind_of(service, options.item, options.type)
    try:
        (check_change_id if kind == "change" else check_capability)(options.item)
    except InvalidNameError as error:
        raise failure(error, "invalid_item") from error
    validate = service.validate_change if kind == "change" else service.validate_spec
    item, report = _timed(lambda: validate(options.item), strict=options.strict)
    valid = bool(item["valid"])
    if options.json:
        _print_items(service, [item], [kind])
        return 0 if valid else 1
    name = f"{'Change' if kind == 'change' else 'Specification'} '{options.item}'"
    if valid:
        say(f"{name} is valid")
    else:
        complain(f"{name} has issues")
    complain(*finding_lines(report))
    if not valid:
        complain("Next steps:", f"  - openspec show {options.item} --type {kind} --json")
    return 0 if valid else 1


def _many(service: OpenSpec, options: Namespace) -> int:
    changes, specs = options.all or options.changes, options.all or options.specs
    kind = "all" if changes and specs else "change" if changes else "spec"
    if specs:
        service.check_all_specs()  # the reference tool ends where one may not look
    began = time.monotonic()
    reports = service.validate_all(kind)  # type: ignore[arg-type]  # one of the three literals
    each = int(1000 * (time.monotonic() - began) / max(1, len(reports)))
    items = [shapes.report_item(r, strict=options.strict, milliseconds=each) for r in reports]
    types = [name for name, asked in (("change", changes), ("spec", specs)) if asked]
    scope = {"all": "all", "change": "changes", "spec": "specs"}[kind]
    return _print_many(service, options, items, reports, types, scope)


def _archived(service: OpenSpec, options: Namespace) -> int:
    reports = service.validate_archived()
    items = [shapes.report_item(report, strict=False) for report in reports]
    return _print_many(service, options, items, reports, ["change"], "archived")


def _print_many(
    service: OpenSpec,
    options: Namespace,
    items: list[dict[str, Any]],
    reports: Sequence[Report],
    types: list[str],
    scope: str,
) -> int:
    summary = shapes.summary(items, types)
    failed = bool(summary["totals"]["failed"])
    if options.json and options.report == "findings":
        found = [item for item in items if item["issues"]]
        head = {"kind": "validation-findings", "version": "1.0", "scope": scope}
        print_json(
            {
                "report": {**head, "returnedItems": len(found), "totalItems": len(items)},
                "itemFindings": found,
                "summary": summary,
                "root": shapes.root_of(service.root),
            }
        )
        return int(failed)
    if options.json:
        _print_items(service, items, types)
        return int(failed)
    if not items:
        say("No items found to validate.")
    for item, report in zip(items, reports, strict=True):
        line = f"{'✓' if item['valid'] else '✗'} {report.type}/{report.id}"
        if item["valid"]:
            say(line)
        else:
            complain(line)
        complain(*(f"  {text}" for text in finding_lines(report)))
    if items:
        totals = summary["totals"]
        say(
            f"Totals: {totals['passed']} passed, {totals['failed']} failed "
            f"({totals['items']} items)"
        )
    first = next(
        (report for item, report in zip(items, reports, strict=True) if not item["valid"]), None
    )
    if first is not None and scope != "archived":
        say(f"Details: openspec validate {first.id} --type {first.type}")
    return int(failed)


def _print_items(service: OpenSpec, items: list[dict[str, Any]], types: list[str]) -> None:
    print_json(
        {
            "items": items,
            "summary": shapes.summary(items, types),
            "version": "1.0",
            "root": shapes.root_of(service.root),
        }
    )


def _timed(work: Callable[[], Report], *, strict: bool) -> tuple[dict[str, Any], Report]:
    began = time.monotonic()
    report = work()
    milliseconds = int(1000 * (time.monotonic() - began))
    return shapes.report_item(report, strict=strict, milliseconds=milliseconds), report


def finding_lines(report: Report) -> list[str]:
    """The findings and notes of an item, one a line."""
    return [
        f"{_SIGNS[f.level]} [{f.level}] {f.path}{_at(f.line)}: {f.message} ({f.rule})"
        for f in report.findings
    ] + [f"· [NOTE] {n.path}{_at(n.line)}: {n.message} ({n.rule})" for n in report.notes]


def _at(line: int | None) -> str:
    return "" if line is None else f":{line}"
