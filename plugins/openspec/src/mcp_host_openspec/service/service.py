"""What the pack's tools, resources and prompts work with while it is open.

What few calls need is imported by them: the first call of a session waits for this module.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from ..errors import (
    AlreadyInitialisedError,
    InvalidNameError,
    NotFoundError,
    OpenSpecError,
    RefusedError,
)
from ..model.findings import ItemType
from ..storage.roots import is_initialised
from . import shapes
from .all_reports import Kind
from .budget import Answer, paged, within
from .excerpts import change_in_budget, change_part, spec_in_budget, spec_part
from .openspec import OpenSpec
from .search import Searches
from .trees import Trees

if TYPE_CHECKING:
    from .setup import Target
    from .views import ChangeRow

Layout = Literal["0.x", "1.x"]
View = Literal["budget", "cli"]

_MATCHES: Final = 5
_SETTLED: Final = (
    "An archive that another process began was cut short; it has been finished or undone now."
)


@dataclass(frozen=True, slots=True)
class Service:
    """The project's tree, what the host tells the pack, and what the tools answer."""

    openspec: OpenSpec
    tool_name: Callable[[str], str]
    """The name under which clients know one of our tools."""
    set_up: Callable[[], None]
    """Say that the tree is there now."""
    trees: Trees = field(default_factory=Trees)
    """The other trees that calls were about."""
    searches: Searches = field(default_factory=Searches)
    """The full-text indexes of the trees."""
    tests: tuple[str, ...] = ()
    """Where the project's tests are; none: whatever looks like a test."""
    reports: tuple[str, ...] = ()
    """Reports of their runs."""
    notices: tuple[str, ...] = ()
    """What happened to the tree before this call, for its answer."""

    def at(self, project: str | None) -> "Service":
        """The service for another project of the same repository, or with none for its own."""
        service = self
        if project is not None:
            tree = self.trees.get(self.openspec, project)
            service = replace(self, openspec=tree, set_up=_nothing)
        try:
            settled = service.openspec.recover()
        except OpenSpecError as error:
            told = f"An archive was cut short and could not be settled: {error}"
            return replace(service, notices=(told,))
        return replace(service, notices=(_SETTLED,)) if settled else service

    def init(self, path: str | None, assistants: tuple[str, ...], layout: Layout) -> Answer:
        """Make the tree; `path` may only be the project's own folder."""
        self._check_own_project(path)
        if layout == "1.x":
            files = self._init_current(assistants)
        else:
            files = list(self.openspec.init(assistants).files)
        self.set_up()
        return {
            "success": True,
            "path": str(self.openspec.root.openspec),
            "filesCreated": files,
            "nextSteps": [
                f"Describe the project with {self.tool_name('update_project_context')}.",
                "Propose a first change with the prompt openspec-propose.",
            ],
        }

    def list_specs(
        self, *, long: bool, cursor: str | None = None, limit: int | None = None
    ) -> Answer:
        """The specs, with `long` also what each is for."""
        rows = self.openspec.list_specs()
        answer: Answer = {
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
        return paged(self._told(answer), ("warnings", "specs"), cursor=cursor, limit=limit)

    def list_changes(
        self, *, long: bool, cursor: str | None = None, limit: int | None = None
    ) -> Answer:
        """The active changes, with `long` also their titles."""
        rows = self.openspec.list_changes()
        claims = self.openspec.overlaps()
        titles, untitled = self._titles(rows) if long else ({}, [])
        warnings = [
            *shapes.wrapping_warnings(rows),
            *shapes.unreadable_warnings(rows),
            *untitled,
        ]
        answer: Answer = {
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
                    **({"overlaps": shapes.overlaps(claims[row.id])} if row.id in claims else {}),
                }
                for row in rows
            ],
            "hint": f"{self.tool_name('show')} gives a change in full.",
            **({"warnings": warnings} if warnings else {}),
        }
        return paged(self._told(answer), ("warnings", "changes"), cursor=cursor, limit=limit)

    def find(self, query: str, *, limit: int | None) -> Answer:
        """The requirements that say most of what is asked for."""
        search = self.searches.of(self.openspec.tree)
        found = search.find(query, _MATCHES if limit is None else limit)
        return paged(
            {
                "type": "requirements",
                "count": len(found),
                "matches": [shapes.match(one) for one in found],
                "hint": f"{self.tool_name('show')} with type='spec' and a requirement's name as "
                "part gives it in full.",
            },
            ("matches",),
        )

    def show_change(
        self, change: str, *, part: str | None, view: View, cursor: str | None
    ) -> Answer:
        """One change: all of it, or one part, in pages."""
        try:
            shown = self.openspec.change(change)
        except NotFoundError as missing:
            raise _or(missing, "spec", self.openspec.capabilities()) from None
        head = self._told({"type": "change", "changeId": shown.id})
        if view == "cli":
            return {**head, **shapes.change_view(shown)}
        if part in ("next", "apply"):
            answer: Answer = within({**head, "part": part, **self._what_next(change, part)})
            return answer
        if part is not None:
            return {**head, **change_part(shown, part, cursor)}
        return {**head, **change_in_budget(shown, self.tool_name("show"))}

    def show_spec(
        self, capability: str, *, part: str | None, view: View, cursor: str | None
    ) -> Answer:
        """One spec: all of it, or one part, in pages."""
        try:
            spec = self.openspec.spec(capability)
        except NotFoundError as missing:
            raise _or(missing, "change", self.openspec.change_ids()) from None
        head = self._told({"type": "spec", "capability": capability})
        if view == "cli":
            content = spec.text.removeprefix("\ufeff")
            return {**head, **shapes.spec_view(capability, spec), "content": content}
        if part is not None:
            return {**head, **spec_part(spec, part, cursor)}
        return {**head, **spec_in_budget(capability, spec, self.tool_name("show"))}

    def validate(
        self,
        name: str | None,
        kind: Kind,
        *,
        strict: bool,
        only: Collection[str] = (),
        coverage: bool = False,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Answer:
        """The findings on one change or spec, or on all of a kind; `only` those of some kinds.

        With `coverage` also which scenarios of the specs have tests.
        """
        openspec = self.openspec
        if name is None:
            reports = openspec.validate_all(kind)
            types = ["change", "spec"] if kind == "all" else [kind]
        else:
            reports = [openspec.validate(name, openspec.kind_of(name) if kind == "all" else kind)]
            types = [reports[0].type]
        items = [{"id": r.id, "type": r.type, "valid": r.valid(strict=strict)} for r in reports]
        items.sort(key=lambda item: bool(item["valid"]))
        rows = {
            "errors": shapes.flat(reports, "ERROR"),
            "warnings": shapes.flat(reports, "WARNING"),
            "infos": shapes.flat(reports, "INFO"),
            "notes": shapes.flat_notes(reports),
            "items": items,
        }
        answer = {
            "valid": all(item["valid"] for item in items),
            "target": name if name is not None else kind,
            "strict": strict,
            **{key: found if not only or key in only else [] for key, found in rows.items()},
            "counts": {key: len(found) for key, found in rows.items()},
            "summary": shapes.summary(items, types),
        }
        keys = (*rows,)
        if coverage:
            is_spec = name is not None and types == ["spec"]
            answer |= self._coverage([name] if name is not None and is_spec else [])
            keys = ("gone", "uncovered", *rows)
        return paged(self._told(answer), keys, cursor=cursor, limit=limit)

    def _coverage(self, only: list[str]) -> Answer:
        """Which scenarios have tests: the counts, the requirements that lack some, stray tests."""
        from .coverage import coverage_of, gone_row, requirement_row, summary

        found = coverage_of(self.openspec, only=only, tests=self.tests, reports=self.reports)
        lacking = [one for one in found.requirements if not all(map(one.is_covered, one.scenarios))]
        return {
            "coverage": summary(found),
            "uncovered": [requirement_row(one, with_tests=False) for one in lacking],
            "gone": [gone_row(*one) for one in found.gone],
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
        part: str | None,
        cursor: str | None,
        wanted: Callable[[], bool],
    ) -> Answer:
        """Archive a change while it is `wanted`, or with `dry_run` tell what that would do."""
        from .archive_plan import Options
        from .losses import check_accepted

        options = Options(update_specs, force, validate, check_accepted(accept))
        if dry_run:
            from .previews import diff_page, in_budget, preview

            shown = preview(self.openspec, change, options)
            if part is not None:
                return diff_page(shown, part, cursor)
            return in_budget(shown, f"{self.tool_name('archive')} with dryRun and part")
        try:
            plan = self.openspec.archive(change, options, wanted=wanted)
        except RefusedError as refused:
            refused.details = within(refused.details)
            raise
        validator = self.tool_name("validate")
        answer = {
            "success": True,
            "changeId": plan.change,
            "archivedTo": plan.target_name,
            **shapes.archived(plan),
            "specs": shapes.operations(plan, diffs=False),
            "nextSteps": [f"Validate the specs with {validator}, type='spec'."]
            if plan.specs_updated
            else [],
        }
        done: Answer = within(self._told(answer))
        return done

    def update_context(
        self, content: str, *, merge: bool, section: str | None, target: "Target"
    ) -> Answer:
        """Write the project's context."""
        update = self.openspec.update_context(content, merge=merge, section=section, target=target)
        return {"success": True, "path": str(update.path), "action": update.action}

    def _init_current(self, assistants: tuple[str, ...]) -> list[str]:
        """Make the current layout, with the core workflows for the assistants."""
        from ..model.assistants import ASSISTANTS, CORE, RENAMED
        from .assistant_files import AssistantFiles, Choice

        root = self.openspec.root
        if is_initialised(root.openspec):
            raise AlreadyInitialisedError(root.openspec)
        made = list(self.openspec.init_current().files)
        named = [ASSISTANTS[RENAMED.get(name, name)] for name in assistants]
        files = AssistantFiles(root.path, Path.home())
        for written in files.write(named, Choice(CORE, "both")):
            if written.error is not None:
                raise OpenSpecError(written.error)
            made += [path.relative_to(root.path).as_posix() for path in written.files]
        return made

    def _told(self, answer: Answer) -> Answer:
        """The answer, with what happened to the tree before."""
        return {**answer, "notices": list(self.notices)} if self.notices else answer

    def _what_next(self, change: str, part: str) -> Answer:
        """What is needed to go on with a change: to write its next artifact, or to carry it out."""
        from . import workflow_shapes
        from .workflow import Workflow

        workflow, root = Workflow(self.openspec.tree), self.openspec.root
        status = workflow.status(change)
        states = {one.artifact.id: one.state for one in status.artifacts}
        artifact = None if part == "apply" else status.next_artifact
        if artifact is not None:
            shown = workflow.instructions(change, artifact)
            return {"artifacts": states, **workflow_shapes.instructions(shown, root)}
        return {"artifacts": states, **workflow_shapes.apply(workflow.apply_instructions(change))}

    def _titles(self, rows: Iterable["ChangeRow"]) -> tuple[dict[str, str], list[Answer]]:
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
            raise InvalidNameError("path", path, f"is not this server's project, {root}")


def _nothing() -> None:
    """The host is told about the server's own tree alone."""


def _or(missing: NotFoundError, other: ItemType, names: Collection[str]) -> NotFoundError:
    """The same error, which first suggests the other type where that has an item of this name."""
    if missing.name in names:
        missing.suggestions.insert(0, f"There is a {other} of this name: give type='{other}'.")
    return missing
