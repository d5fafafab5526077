"""Answers as plain data, key for key as the reference tool prints them, with ours added."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from ..errors import OpenSpecError
from ..model.findings import Finding, Level, Note, Report
from ..model.spec import Requirement, SpecDocument
from ..model.tasks import Progress
from ..storage.roots import Root

if TYPE_CHECKING:
    from .archive_plan import Plan
    from .budget import Page
    from .overlaps import Claim
    from .rebases import Rebased
    from .search import Match
    from .views import ChangeRow, ChangeView, DeltaEntry, SpecRow

Data = dict[str, Any]

_SCENARIOS_SHOWN: Final = 4


def root_of(root: Root) -> Data:
    """Which tree an answer is about."""
    return {"path": str(root.path), "source": root.source}


def change_rows(
    rows: Iterable[ChangeRow], claims: Mapping[str, Sequence[Claim]] = MappingProxyType({})
) -> list[Data]:
    """`list`; `overlaps` is ours and there only when there are any."""
    return [
        {
            "name": row.id,
            "completedTasks": row.progress.completed,
            "totalTasks": row.progress.total,
            "lastModified": timestamp(row.modified),
            "status": row.progress.status,
            **({"nested": list(row.nested)} if row.nested else {}),
            **({"overlaps": overlaps(claims[row.id])} if row.id in claims else {}),
        }
        for row in rows
    ]


def wrapping_warnings(rows: Iterable[ChangeRow]) -> list[Data]:
    """Folders among the changes that only wrap changes."""
    return [
        {
            "code": "nested_change_directory",
            "name": row.id,
            "nested": list(row.nested),
            "message": f"'{row.id}' is no change but a folder around changes; they must stand "
            "directly under changes/.",
        }
        for row in sorted(rows, key=lambda row: os.fsencode(row.id))
        if row.nested
    ]


def unreadable_warnings(rows: Iterable[ChangeRow | SpecRow]) -> list[Data]:
    """Changes or specs that cannot be read, each with the path and the reason."""
    return [unreadable(row.id, row.problem) for row in rows if row.problem is not None]


def unreadable(name: str, problem: OpenSpecError) -> Data:
    """What keeps an item from being read."""
    facts = {key: problem.details[key] for key in ("path",) if key in problem.details}
    return {"code": problem.reason, "name": name, **facts, "message": str(problem)}


def spec_rows(rows: Iterable[SpecRow]) -> list[Data]:
    """`list --specs`."""
    return [{"id": row.id, "requirementCount": row.requirements} for row in rows]


def change_view(view: ChangeView) -> Data:
    """`show` of a change; names, texts and progress are ours."""
    return {
        "id": view.id,
        "title": view.title,
        "deltaCount": len(view.deltas),
        "deltas": [delta_entry(entry) for entry in view.deltas],
        "progress": progress(view.progress),
        "files": list(view.files),
        "proposal": view.proposal,
        "tasks": view.tasks,
        "design": view.design,
        "specDeltas": [
            {"capability": capability, "content": text}
            for capability, text in view.spec_deltas.items()
        ],
    }


def problems(view: ChangeView) -> Data:
    """The texts of a change that cannot be read; nothing where all can."""
    if not view.problems:
        return {}
    return {"warnings": [unreadable(view.id, problem) for problem in view.problems]}


def progress(done: Progress) -> Data:
    """How far a change is."""
    return {"total": done.total, "completed": done.completed, "percentage": done.percentage}


def delta_entry(entry: DeltaEntry) -> Data:
    """One operation of a change; `name` is ours."""
    data: Data = {
        "spec": entry.capability,
        "operation": entry.operation,
        "description": entry.description,
    }
    if entry.name:
        data["name"] = entry.name
    if entry.requirement is not None:
        shown = requirement(entry.requirement)
        data["requirement"] = shown
        data["requirements"] = [shown]
    if entry.rename is not None:
        data["rename"] = {"from": entry.rename[0], "to": entry.rename[1]}
    if entry.diff is not None:
        data["diff"] = entry.diff
    if entry.warning is not None:
        data["warning"] = entry.warning
    return data


def requirement(shown: Requirement, *, scenarios: bool = True) -> Data:
    """A requirement; the names are ours."""
    return {
        "text": shown.text,
        "scenarios": [
            {"rawText": scenario.text, "name": scenario.name} for scenario in shown.scenarios
        ]
        if scenarios
        else [],
        "name": shown.name,
    }


def spec_view(
    capability: str,
    spec: SpecDocument,
    chosen: Sequence[Requirement] | None = None,
    *,
    scenarios: bool = True,
) -> Data:
    """`show` of a spec; `chosen` are the requirements to show."""
    shown = spec.requirements if chosen is None else chosen
    return {
        "id": capability,
        "title": capability,
        "overview": spec.purpose,
        "requirementCount": len(shown),
        "requirements": [requirement(one, scenarios=scenarios) for one in shown],
        "metadata": {"version": "1.0.0", "format": "openspec"},
    }


def finding(found: Finding) -> Data:
    """One finding; `rule` is ours."""
    data: Data = {"level": found.level, "path": found.path}
    if found.line is not None:
        data["line"] = found.line
    return {**data, "message": found.message, "rule": found.rule}


def note(noted: Note) -> Data:
    """One note; all of it is ours."""
    data: Data = {"rule": noted.rule, "path": noted.path}
    if noted.line is not None:
        data["line"] = noted.line
    return {**data, "message": noted.message}


def report_item(report: Report, *, strict: bool, milliseconds: int = 0) -> Data:
    """One validated item; `notes` is ours and there only when there are any."""
    data: Data = {
        "id": report.id,
        "type": report.type,
        "valid": report.valid(strict=strict),
        "issues": [finding(found) for found in report.findings],
        "durationMs": milliseconds,
    }
    if report.notes:
        data["notes"] = [note(noted) for noted in report.notes]
    return data


def flat(reports: Iterable[Report], level: Level) -> list[Data]:
    """The findings of one level over many items, each naming its item."""
    return [
        {"item": report.id, "type": report.type, **finding(found)}
        for report in reports
        for found in report.at(level)
    ]


def flat_notes(reports: Iterable[Report]) -> list[Data]:
    """The notes over many items, each naming its item."""
    return [
        {"item": report.id, "type": report.type, **note(noted)}
        for report in reports
        for noted in report.notes
    ]


def summary(items: Sequence[Mapping[str, Any]], types: Iterable[str]) -> Data:
    """How many items of each type passed."""

    def count(chosen: list[Mapping[str, Any]]) -> Data:
        passed = sum(bool(item["valid"]) for item in chosen)
        return {"items": len(chosen), "passed": passed, "failed": len(chosen) - passed}

    return {
        "totals": count(list(items)),
        "byType": {kind: count([item for item in items if item["type"] == kind]) for kind in types},
    }


def archived(plan: Plan) -> Data:
    """`archive` of a change that went through; `dropped` is ours."""
    data: Data = {
        "change": plan.change,
        "archivedAs": plan.target.name,
        "path": str(plan.target),
        "specsUpdated": plan.specs_updated,
    }
    if plan.totals is not None:
        data["totals"] = plan.totals.as_dict()
    if plan.warnings:
        data["warnings"] = list(plan.warnings)
    if dropped := dropped_lines(plan):
        data["dropped"] = dropped
    return data


def rebased(done: Rebased) -> Data:
    """`rebase` of one change."""
    return {
        "change": done.change,
        "merged": list(done.merged),
        "kept": list(done.kept),
        "conflicts": [loss.as_dict() for loss in done.conflicts],
    }


def overlaps(claims: Iterable[Claim]) -> list[Data]:
    """Requirements that other active changes rewrite as well."""
    return [
        {
            "capability": claim.capability,
            "requirement": claim.requirement,
            "changes": list(claim.changes),
        }
        for claim in claims
    ]


def page(key: str, shown: Page) -> Data:
    """A page of something; `next_cursor` is there where more remains."""
    data: Data = {key: shown.content, "total": shown.total}
    if shown.next_cursor is not None:
        data |= {"truncated": True, "next_cursor": shown.next_cursor}
    return data


def match(found: Match) -> Data:
    """A requirement that was found."""
    return {
        "capability": found.capability,
        "requirement": found.requirement,
        "text": found.excerpt,
        "scenarios": list(found.scenarios[:_SCENARIOS_SHOWN]),
    }


def operations(plan: Plan, *, diffs: bool) -> list[Data]:
    """What becomes of each spec a change touches."""
    return [
        {
            "capability": spec.capability,
            "operation": spec.outcome,
            "path": spec.name,
            "counts": spec.counts.as_dict(),
            **({"diff": spec.diff} if diffs else {}),
        }
        for spec in plan.specs
    ]


def dropped_lines(plan: Plan) -> list[Data]:
    """The text an archive does not keep, place by place."""
    return [loss.as_dict() for loss in plan.losses if loss.lines]


def timestamp(moment: datetime) -> str:
    """A moment as JavaScript prints it: milliseconds, and Z."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
