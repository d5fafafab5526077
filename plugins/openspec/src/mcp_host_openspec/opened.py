"""What the pack's tools, resources and prompts work with while it is open."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from .errors import InvalidName, NotFound, OpenSpecError, Refused, TasksIncomplete
from .model.findings import ItemType
from .service import OpenSpec, Options, Plan, check_accepted, shapes
from .service.losses import ACCEPTABLE
from .service.openspec import Kind
from .service.showing import ChangeRow

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Opened:
    """The project's tree, what the host tells the pack, and what the tools answer."""

    openspec: OpenSpec
    tool_name: Callable[[str], str]
    """The name under which clients know one of our tools."""
    set_up: Callable[[], None]
    """Say that the tree is there now."""

    def init(self, path: str | None, assistants: tuple[str, ...]) -> Answer:
        """Make the tree; `path` may only be the project's own folder."""
        self._check_own_project(path)
        created = self.openspec.init(assistants)
        self.set_up()
        return {
            "success": True,
            "path": str(created.path),
            "filesCreated": list(created.files),
            "nextSteps": [
                f"Describe the project with {self.tool_name('update_project_context')}.",
                "Propose a first change with the prompt openspec-propose.",
            ],
        }

    def list_specs(self, *, long: bool) -> Answer:
        """The specs, with `long` also what each is for."""
        rows = self.openspec.list_specs()
        return {
            "type": "specs",
            "count": len(rows),
            "specs": [
                {
                    "capability": row.id,
                    "requirementCount": row.requirements,
                    **({"summary": row.summary} if long and row.summary else {}),
                }
                for row in rows
            ],
            **({"warnings": warnings} if (warnings := shapes.unreadable_warnings(rows)) else {}),
        }

    def list_changes(self, *, long: bool) -> Answer:
        """The active changes, with `long` also their titles."""
        rows = self.openspec.list_changes()
        titles, untitled = self._titles(rows) if long else ({}, [])
        warnings = [
            *shapes.wrapping_warnings(rows),
            *shapes.unreadable_warnings(rows),
            *untitled,
        ]
        return {
            "type": "changes",
            "count": len(rows),
            "changes": [
                {
                    "id": row.id,
                    "hasProposal": "proposal.md" in row.files,
                    "hasTasks": "tasks.md" in row.files,
                    "hasDesign": "design.md" in row.files,
                    **({"progress": shapes.progress(row.progress)} if row.progress.total else {}),
                    "status": "unreadable" if row.problem else row.progress.status,
                    "lastModified": shapes.timestamp(row.modified),
                    **({"title": titles[row.id]} if row.id in titles else {}),
                    **({"nested": list(row.nested)} if row.nested else {}),
                }
                for row in rows
            ],
            "hint": f"{self.tool_name('show')} gives a change in full.",
            **({"warnings": warnings} if warnings else {}),
        }

    def show_change(self, change: str) -> Answer:
        """One change in full."""
        try:
            view = self.openspec.change(change)
        except NotFound as missing:
            raise _or(missing, "spec", self.openspec.capabilities()) from None
        return {"type": "change", "changeId": view.id, **shapes.change_view(view)}

    def show_spec(self, capability: str) -> Answer:
        """One spec in full."""
        try:
            spec = self.openspec.spec(capability)
        except NotFound as missing:
            raise _or(missing, "change", self.openspec.change_ids()) from None
        return {
            "type": "spec",
            "capability": capability,
            **shapes.spec_view(capability, spec),
            "content": spec.text.removeprefix("\ufeff"),
        }

    def validate(self, name: str | None, kind: Kind, *, strict: bool) -> Answer:
        """The findings on one change or spec, or on all of a kind."""
        openspec = self.openspec
        if name is None:
            reports = openspec.validate_all(kind)
            types = ["change", "spec"] if kind == "all" else [kind]
        else:
            reports = [openspec.validate(name, openspec.kind_of(name) if kind == "all" else kind)]
            types = [reports[0].type]
        items = [{"id": r.id, "type": r.type, "valid": r.valid(strict=strict)} for r in reports]
        return {
            "valid": all(item["valid"] for item in items),
            "target": name if name is not None else kind,
            "strict": strict,
            "errors": shapes.flat(reports, "ERROR"),
            "warnings": shapes.flat(reports, "WARNING"),
            "infos": shapes.flat(reports, "INFO"),
            "notes": shapes.flat_notes(reports),
            "items": items,
            "summary": shapes.summary(items, types),
        }

    def archive(
        self,
        change: str,
        *,
        update_specs: bool,
        dry_run: bool,
        force: bool,
        validate: bool,
        accept: Collection[str],
        wanted: Callable[[], bool],
    ) -> Answer:
        """Archive a change while it is `wanted`, or with `dry_run` tell what that would do."""
        options = Options(update_specs, force, validate, check_accepted(accept))
        if dry_run:
            return _preview(self.openspec, change, options)
        plan = self.openspec.archive(change, options, wanted=wanted)
        validator = self.tool_name("validate")
        return {
            "success": True,
            "changeId": plan.change,
            "archivedTo": f"openspec/changes/archive/{plan.target.name}",
            **shapes.archived(plan),
            "specs": shapes.operations(plan, diffs=False),
            "nextSteps": [f"Validate the specs with {validator}, type='spec'."]
            if plan.specs_updated
            else [],
        }

    def update_context(self, content: str, *, merge: bool, section: str | None) -> Answer:
        """Write the project's context."""
        update = self.openspec.update_context(content, merge=merge, section=section)
        return {"success": True, "path": str(update.path), "action": update.action}

    def _titles(self, rows: Iterable[ChangeRow]) -> tuple[dict[str, str], list[Answer]]:
        """The titles of the changes, and warnings about those whose proposal cannot be read."""
        titles: dict[str, str] = {}
        warnings: list[Answer] = []
        for row in rows:
            if row.problem is not None:
                continue
            try:
                titles[row.id] = self.openspec.title(row.id)
            except OpenSpecError as error:
                warnings.append(shapes.unreadable(row.id, error))
        return titles, warnings

    def _check_own_project(self, path: str | None) -> None:
        if path is None:
            return
        root = self.openspec.root.path
        if "\0" in path or (root / path).resolve() != root.resolve():
            raise InvalidName("path", path, f"is not this server's project, {root}")


def _or(missing: NotFound, other: ItemType, names: Collection[str]) -> NotFound:
    """The same error, which first suggests the other type where that has an item of this name."""
    if missing.name in names:
        missing.suggestions.insert(0, f"There is a {other} of this name: give type='{other}'.")
    return missing


def _preview(openspec: OpenSpec, name: str, options: Options) -> Answer:
    """What an archive would do; where it would be refused, all reasons, and what it would do."""
    problems: list[Answer] = []
    plan: Plan | None = None
    while plan is None:
        try:
            plan = openspec.plan_archive(name, options)
        except Refused as refused:
            problems.append(_problem(refused))
            lenient = _without_obstacle(options, refused)
            if lenient is None:
                break
            options = lenient
    return {
        "success": True,
        "dryRun": True,
        "changeId": name,
        "ready": not problems,
        "errors": problems,
        "operations": shapes.operations(plan, diffs=True) if plan else [],
        **(_outline(plan) if plan else {}),
    }


def _without_obstacle(options: Options, refused: Refused) -> Options | None:
    """The options under which this refusal would not have come; None where there are none."""
    if isinstance(refused, TasksIncomplete):
        return replace(options, force=True)
    if "losses" in refused.details:
        return replace(options, accept=frozenset(ACCEPTABLE) - {"L9"} | options.accept)
    return None


def _outline(plan: Plan) -> Answer:
    return {
        "archivedTo": f"openspec/changes/archive/{plan.target.name}",
        "specsUpdated": plan.specs_updated,
        "totals": plan.totals.as_dict() if plan.totals else None,
        "progress": shapes.progress(plan.progress),
        "warnings": list(plan.warnings),
        "dropped": shapes.dropped_lines(plan),
    }


def _problem(refused: Refused) -> Answer:
    return {
        "code": refused.code,
        "message": str(refused),
        **{key: value for key, value in refused.details.items() if key != "reason"},
        "suggestions": refused.suggestions,
    }
