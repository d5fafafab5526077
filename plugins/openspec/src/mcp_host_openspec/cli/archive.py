"""`openspec archive`."""

import os
import sys
from argparse import Namespace

from ..errors import (
    BadFileError,
    InvalidNameError,
    LockedError,
    NotFoundError,
    OpenSpecError,
    RefusedError,
    TasksIncompleteError,
)
from ..service import OpenSpec, shapes
from ..service.archive_plan import Options, Plan
from ..service.losses import check_accepted
from .output import CommandError, Data, failure, print_json, say
from .roots import open_tree

_AFTER_CONFIRMATION = (
    "archive_spec_update_failed",
    "archive_spec_validation_failed",
    "archive_would_lose_text",
)


def run(options: Namespace) -> int:
    """Archive a change, or with --dry-run show what that would do."""
    service = open_tree(implicit=True)
    payload: Data = {"archive": None, "root": shapes.root_of(service.root)}
    try:
        plan = _archive(service, options)
    except CommandError as failed:
        failed.payload = payload
        raise
    except InvalidNameError as error:
        raise failure(error, "archive_change_name_invalid", payload=payload) from error
    except NotFoundError as error:
        raise _not_found(error, payload) from error
    except RefusedError as error:
        raise failure(error, error.code, payload=payload) from error
    except LockedError as error:
        raise failure(error, "archive_target_exists", payload=payload) from error
    except BadFileError as error:
        raise failure(error, "archive_spec_update_failed", payload=payload) from error
    except OpenSpecError as error:
        raise failure(error, "archive_error", payload=payload) from error
    if plan is None:
        say("Archive cancelled.")
    elif options.json:
        data = shapes.archived(plan)
        if options.dry_run:
            data["dryRun"] = True
            data["diffs"] = {spec.capability: spec.diff for spec in plan.specs if spec.diff}
            if claims := service.overlaps(plan.change).get(plan.change):
                data["overlaps"] = shapes.overlaps(claims)
        print_json({"archive": data, "root": payload["root"]})
    else:
        _print(service, plan, dry_run=options.dry_run)
    return 0


def _archive(service: OpenSpec, options: Namespace) -> Plan | None:
    """The archive as it was done or, on a dry run, would be; None where a person said no."""
    if options.item is None:
        raise CommandError(
            "archive_change_name_required",
            "Which change? " + (", ".join(service.change_ids()) or "There is none."),
            fix="openspec archive <change>",
        )
    if options.no_validate and not _agreed(options, "Archive without validating?"):
        raise _needs_yes("Archives without validation")
    wanted = Options(
        update_specs=not options.skip_specs,
        force=options.yes or options.dry_run,
        validate=not options.no_validate,
        accept=check_accepted(options.accept),
    )
    try:
        plan = service.plan_archive(options.item, wanted)
    except TasksIncompleteError as open_tasks:
        if options.json or not _agreed(options, f"{open_tasks} Archive all the same?"):
            raise
        wanted = Options(wanted.update_specs, True, wanted.validate, wanted.accept)
        plan = service.plan_archive(options.item, wanted)
    except RefusedError as refused:
        if refused.code in _AFTER_CONFIRMATION and not _agreed(options, None):
            raise _needs_yes("Changing main specs") from refused
        raise
    if options.dry_run:
        return plan
    if plan.specs and not _agreed(options, f"Update {len(plan.specs)} spec(s)?"):
        raise _needs_yes(f"Updating {len(plan.specs)} spec(s)")
    return service.archive(options.item, wanted)


def _agreed(options: Namespace, question: str | None) -> bool:
    """Whether to go on: by --yes, on a dry run, or because a person says so."""
    if options.yes or options.dry_run:
        return True
    if options.json or options.no_interactive or "CI" in os.environ or not sys.stdin.isatty():
        return False
    return question is None or input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def _needs_yes(what: str) -> CommandError:
    return CommandError(
        "archive_confirmation_required",
        f"{what} needs a confirmation.",
        fix="Run it again with --yes.",
    )


def _not_found(error: NotFoundError, payload: Data) -> CommandError:
    there = f" Active changes: {', '.join(error.near)}" if error.near else ""
    return CommandError("archive_change_not_found", f"{error}{there}", payload=payload)


def _print(service: OpenSpec, plan: Plan, *, dry_run: bool) -> None:
    if plan.progress.total:
        say(f"Tasks: {plan.progress.completed} of {plan.progress.total} done")
    for warning in plan.warnings:
        say(f"Warning: {warning}")
    for dropped in shapes.dropped_lines(plan):
        for line in dropped["lines"]:
            say(f"  not kept: {line}")
    for claim in service.overlaps(plan.change).get(plan.change, ()):
        say(f"Note: {claim} ({claim.capability})")
    for spec in plan.specs:
        counts = spec.counts
        say(
            f"{spec.capability}: {spec.outcome} "
            f"(+{counts.added} ~{counts.modified} -{counts.removed} →{counts.renamed})"
        )
        if dry_run and spec.diff:
            say(spec.diff.removesuffix("\n"))
    verb = "would be archived" if dry_run else "archived"
    say(f"Change '{plan.change}' {verb} as '{plan.target.name}'.")
