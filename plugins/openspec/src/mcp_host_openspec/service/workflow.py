"""The workflow of a change: which artifact comes next, and what is to be written into it."""

import os
import re
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import Final, Literal, NamedTuple

from ..errors import (
    BadFileError,
    ConflictError,
    InvalidNameError,
    NotFoundError,
    OpenSpecError,
    SchemaError,
)
from ..model.collation import collation_key
from ..model.spec import SpecDocument
from ..model.tasks import TaskDocument
from ..storage.files import is_folder
from ..storage.history import blob_id
from ..storage.metadata import FILE_NAME, ProjectConfig
from ..storage.records import Records, written
from ..storage.roots import config_file
from ..storage.schemas import Artifact, Schema, SchemaPlace, outputs
from ..storage.tree import Tree, check_inside
from ..storage.writes import write_whole
from ..storage.yaml12 import dump

State = Literal["done", "skipped", "ready", "blocked"]
ApplyState = Literal["blocked", "all_done", "ready"]

KEBAB: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_NAME: Final = 200


class ArtifactStatus(NamedTuple):
    """How far one artifact of a change is."""

    artifact: Artifact
    state: State
    missing: tuple[str, ...]
    """The artifacts that must come before it and are not there."""
    path: Path
    files: tuple[Path, ...]
    """What there is of it."""


class ChangeStatus(NamedTuple):
    """How far a change is."""

    change: str
    folder: Path
    place: SchemaPlace
    artifacts: tuple[ArtifactStatus, ...]
    """In the order in which they are made."""

    @property
    def schema(self) -> Schema:
        """The schema that the change follows."""
        return self.place.schema

    @property
    def complete(self) -> bool:
        """Whether no artifact is missing."""
        return all(one.state in ("done", "skipped") for one in self.artifacts)

    @property
    def next_artifact(self) -> str | None:
        """The artifact to make next."""
        return next((one.artifact.id for one in self.artifacts if one.state == "ready"), None)

    @property
    def apply_requires(self) -> tuple[str, ...]:
        """The artifacts without which the change cannot be carried out."""
        apply = self.schema.apply
        return apply.requires if apply else tuple(one.id for one in self.schema.artifacts)

    def of(self, name: str) -> ArtifactStatus:
        """One artifact; NotFoundError where the schema has none of this id."""
        found = next((one for one in self.artifacts if one.artifact.id == name), None)
        if found is None:
            known = [artifact.id for artifact in self.schema.artifacts]
            raise NotFoundError("Artifact", name, known)
        return found


class ArtifactInstructions(NamedTuple):
    """All that is needed to write one artifact."""

    status: ChangeStatus
    artifact: ArtifactStatus
    template: str
    context: str | None
    rules: tuple[str, ...]

    @property
    def dependencies(self) -> tuple[ArtifactStatus, ...]:
        """The artifacts it builds on."""
        return tuple(self.status.of(name) for name in self.artifact.artifact.requires)

    @property
    def unlocks(self) -> tuple[str, ...]:
        """The artifacts that build on it."""
        name = self.artifact.artifact.id
        return tuple(one.id for one in self.status.schema.artifacts if name in one.requires)


class ApplyInstructions(NamedTuple):
    """All that is needed to carry out a change."""

    status: ChangeStatus
    state: ApplyState
    tasks: tuple[tuple[str, bool], ...]
    """Those that have a text, each with whether it is done."""
    total: int
    completed: int
    tracks: str | None
    tracked: tuple[Path, ...]
    unavailable: tuple[tuple[Path, str], ...]
    """Task files that cannot be read, and why."""
    missing: tuple[str, ...]
    """The required artifacts that are not there."""
    missing_before: tuple[str, ...]
    """Those, and all that come before them and are not there."""
    unread: tuple[tuple[str, str], ...]
    """Delta files in places that nothing reads, and where they belong."""
    lacks_specs: bool
    config: ProjectConfig


class NewChange(NamedTuple):
    """A change that was begun."""

    change: str
    folder: Path
    schema: str


class Workflow:
    """The workflow of the changes in one tree."""

    def __init__(self, tree: Tree, today: Callable[[], date] = date.today) -> None:
        self._tree = tree
        self._records = Records(tree.openspec, tree.files)
        self._today = today

    def status(self, change: str, schema: str | None = None) -> ChangeStatus:
        """How far a change is; `schema` instead of the one that it follows."""
        folder = self.check(change)
        place = self._tree.schema_of(folder, schema)
        files = {one.id: _outputs(folder, one) for one in place.schema.artifacts}
        done = {name for name, found in files.items() if found}
        skipped: set[str] = set()
        if self._tree.marker_skip_specs(folder).declared:
            skipped = {one.id for one in place.schema.artifacts if one.is_spec} - done
        there = done | skipped

        def state(artifact: Artifact) -> State:
            if artifact.id in skipped:
                return "skipped"
            if artifact.id in done:
                return "done"
            return "ready" if there.issuperset(artifact.requires) else "blocked"

        declared = [one.id for one in place.schema.artifacts]
        artifacts = tuple(
            ArtifactStatus(
                one,
                state(one),
                tuple(sorted(set(one.requires) - there, key=declared.index))
                if one.id not in there
                else (),
                folder / one.generates,
                files[one.id],
            )
            for one in place.schema.order()
        )
        return ChangeStatus(change, folder, place, artifacts)

    def check(self, change: str) -> Path:
        """The folder of an active change; an error that names those there are otherwise."""
        if problem := _unusable_name(change):
            raise InvalidNameError("change name", change, problem)
        folder = self._tree.change_path(change)
        if not is_folder(folder):
            raise NotFoundError("Change", change, self._tree.change_ids())
        if nested := self._tree.nested_changes(change):
            raise BadFileError(
                folder,
                f"this is no change but a folder around changes: {', '.join(nested)}",
                "Move each of them directly under changes/.",
            )
        return folder.resolve()

    def instructions(
        self, change: str, artifact: str, schema: str | None = None
    ) -> ArtifactInstructions:
        """What is needed to write an artifact."""
        status = self.status(change, schema)
        found = status.of(artifact)
        config = self._tree.config
        return ArtifactInstructions(
            status,
            found,
            _template(status.place, found.artifact),
            (config.context or "").strip() or None,
            config.rules.get(artifact, ()),
        )

    def apply_instructions(self, change: str, schema: str | None = None) -> ApplyInstructions:
        """What is needed to carry out a change, and whether that can be."""
        status = self.status(change, schema)
        apply = status.schema.apply
        tracks = apply.tracks if apply else None
        tracked = outputs(status.folder, tracks) if tracks else []
        tasks, unavailable = self._tasks(tracked)
        there = {one.artifact.id for one in status.artifacts if one.state in ("done", "skipped")}
        missing = tuple(name for name in status.apply_requires if name not in there)
        named = tuple((text, done) for text, done in tasks if text)
        completed = sum(done for _, done in tasks)
        state: ApplyState = "ready"
        no_tasks = tracks is not None and not named
        if missing or no_tasks:
            state = "blocked"
        elif tracks and tasks and completed == len(tasks) and not unavailable:
            state = "all_done"
        specs = [one for one in status.artifacts if one.artifact.is_spec]
        looked_at = state != "blocked" and specs and all(one.state != "skipped" for one in specs)
        return ApplyInstructions(
            status,
            state,
            named,
            len(tasks),
            completed,
            tracks,
            tuple(tracked),
            tuple(unavailable),
            missing,
            _missing_before(status, there),
            tuple(self._tree.unread_deltas(status.folder)) if looked_at else (),
            bool(looked_at) and not any(one.files for one in specs),
            self._tree.config,
        )

    def _tasks(
        self, paths: Iterable[Path]
    ) -> tuple[list[tuple[str, bool]], list[tuple[Path, str]]]:
        tasks: list[tuple[str, bool]] = []
        unavailable = []
        for path in paths:
            try:
                document = self._tree.files.document(path, TaskDocument)
            except (OSError, OpenSpecError) as error:
                unavailable.append((path, str(error)))
                continue
            tasks += ((task.text, task.done) for task in document.tasks)
        return tasks, unavailable

    def new_change(
        self,
        name: str,
        *,
        schema: str | None = None,
        goal: str | None = None,
        description: str | None = None,
    ) -> NewChange:
        """Begin a change: its folder with its metadata, and the tree around it where it lacks some.

        What the specs are at this moment is recorded, so that later edits can be merged.
        """
        if problem := _unfit_for_new(name):
            raise InvalidNameError("change name", name, problem)
        place = self._tree.schemas.place(schema or self._tree.config.schema or "spec-driven")
        folder = self._tree.change_path(name)
        if os.path.lexists(folder):
            raise ConflictError(
                f"Change '{name}' already exists at {folder}",
                suggestions=["Choose another name, or go on with that change."],
                path=str(folder),
            )
        check_inside(self._tree.root.path, self._tree.changes)
        facts: dict[str, object] = {"schema": place.name, "created": self._today().isoformat()}
        if goal:
            facts["goal"] = goal
        if not any(one.is_spec for one in place.schema.artifacts):
            facts["skip_specs"] = True
        for needed in (self._tree.specs, self._tree.archive):
            needed.mkdir(parents=True, exist_ok=True)
        if config_file(self._tree.openspec) is None:
            write_whole(self._tree.openspec / "config.yaml", b"schema: spec-driven\n")
        write_whole(folder / FILE_NAME, dump(facts).encode())
        if description:
            write_whole(folder / "README.md", f"# {name}\n\n{description}\n".encode())
        self._record_specs(name)
        return NewChange(name, folder.resolve(), place.name)

    def _record_specs(self, change: str) -> None:
        """Keep what the specs are called by git now; nothing where there are none."""
        check_inside(self._tree.openspec, self._records.folder)
        begun = {}
        for capability, path in self._tree.spec_paths().items():
            try:
                begun[capability] = blob_id(self._tree.files.document(path, SpecDocument).data)
            except (OSError, OpenSpecError):
                continue  # one that cannot be read has no known state
        for path in self._records.files_about(change):
            path.unlink()  # of an earlier change of this name
        if begun:
            write_whole(self._records.begun_path(change), written(begun))


def _outputs(folder: Path, artifact: Artifact) -> tuple[Path, ...]:
    return tuple(path.resolve() for path in outputs(folder, artifact.generates))


def _template(place: SchemaPlace, artifact: Artifact) -> str:
    path = place.folder / "templates" / artifact.template
    try:
        check_inside(place.folder / "templates", path)
        return path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise SchemaError(f"Template not found: {path}") from error


def _missing_before(status: ChangeStatus, there: set[str]) -> tuple[str, ...]:
    """All that is required, by whatever is required, and is not there; in the order of making."""
    waiting, seen = list(status.apply_requires), set[str]()
    while waiting:
        name = waiting.pop()
        artifact = status.schema.artifact(name)
        if name not in seen and artifact is not None:
            seen.add(name)
            waiting += artifact.requires
    order = [one.artifact.id for one in status.artifacts]
    return tuple(name for name in order if name in seen and name not in there)


def _unusable_name(change: str) -> str | None:
    """Why this cannot be the name of a change that is there."""
    if change in (".", ".."):
        return "must not be a relative path segment"
    if "/" in change or "\\" in change:
        return "must not contain path separators"
    if "\0" in change:
        return "must not contain null characters"
    if change.startswith("."):
        return "must not start with a dot"
    if change == "archive":
        return "must not be 'archive': that folder keeps the archived changes"
    return None if change else "must not be empty"


def _unfit_for_new(name: str) -> str | None:
    """Why a new change must not be called so."""
    if len(name) > _LONGEST_NAME:
        return f"must have at most {_LONGEST_NAME} characters"
    if not KEBAB.fullmatch(name):
        return "must be in kebab-case: lower-case letters and digits, with single hyphens between"
    return _unusable_name(name)


def by_name(names: Iterable[str]) -> list[str]:
    """Names in the order in which the reference tool lists them."""
    return sorted(names, key=collation_key)
