"""A project's own workflow schemas: copied, made and checked."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import ConflictError, InvalidNameError, OpenSpecError, SchemaError
from ..storage.files import is_file
from ..storage.schemas import BUILT_IN, PACKAGE, SPEC_DRIVEN, SchemaPlace, Schemas
from ..storage.tree import Tree, check_inside
from ..storage.writes import disk_errors, write_whole
from ..storage.yaml12 import dump
from .workflow import KEBAB

ARTIFACTS: Final = ("proposal", "specs", "design", "tasks")
"""What a new schema may be made of."""

_DESCRIPTIONS: Final = {
    "proposal": "Why a change is made, and what changes",
    "specs": "What the system must do after the change",
    "design": "How the change is made, where that needs explaining",
    "tasks": "The work in steps, with boxes to tick",
}


class SchemaReport(NamedTuple):
    """What is wrong with a schema: its errors, and what is odd about it."""

    name: str
    folder: Path
    errors: tuple[tuple[str, str], ...]
    """Each with the place it is about."""
    warnings: tuple[tuple[str, str], ...] = ()


class SchemaFiles:
    """The schemas in one project's openspec/schemas/."""

    def __init__(self, tree: Tree) -> None:
        self._schemas: Schemas = tree.schemas
        self._openspec = tree.openspec
        self.folder: Final = tree.openspec / "schemas"

    def fork(self, source: str, name: str, *, force: bool) -> SchemaPlace:
        """Copy a schema into the project under a name of its own."""
        origin = self._schemas.place(source)
        target = self._free(name, force=force)
        staging = self.folder / f".fork-staging-{name}"
        with disk_errors(self.folder):
            shutil.rmtree(staging, ignore_errors=True)
            shutil.copytree(origin.folder, staging, symlinks=True)
            lines = (staging / "schema.yaml").read_text("utf-8").splitlines(keepends=True)
            text = "".join(f"name: {name}\n" if one.startswith("name:") else one for one in lines)
            (staging / "schema.yaml").write_text(text, "utf-8")
            self._put(staging, target)
        return self._schemas.place(name)

    def init(
        self, name: str, artifacts: tuple[str, ...], description: str, *, force: bool
    ) -> SchemaPlace:
        """Make a schema of some of the built-in artifacts."""
        if unknown := [one for one in artifacts if one not in ARTIFACTS]:
            raise OpenSpecError(
                f"artifacts must be some of {', '.join(ARTIFACTS)}, not {', '.join(unknown)}."
            )
        target = self._free(name, force=force)
        staging = self.folder / f".init-staging-{name}"
        shutil.rmtree(staging, ignore_errors=True)
        known = {one.id: one for one in SPEC_DRIVEN.artifacts}
        facts: dict[str, object] = {
            "name": name,
            "version": 1,
            "description": description,
            "artifacts": [
                {
                    "id": one,
                    "generates": known[one].generates,
                    "description": _DESCRIPTIONS[one],
                    "template": _template(one),
                    "requires": _requires(one, artifacts),
                }
                for one in artifacts
            ],
        }
        if "tasks" in artifacts:
            facts["apply"] = {"requires": ["tasks"], "tracks": "tasks.md"}
        write_whole(staging / "schema.yaml", dump(facts).encode())
        for one in artifacts:
            template = PACKAGE / BUILT_IN / "templates" / known[one].template
            write_whole(staging / "templates" / _template(one), template.read_bytes())
        self._put(staging, target)
        return self._schemas.place(name)

    def check(self, name: str) -> SchemaReport:
        """What is wrong with a schema; SchemaError where there is none of this name."""
        try:
            place = self._schemas.place(name)
        except SchemaError as error:
            folder = self.folder / name
            if not is_file(folder / "schema.yaml"):
                raise
            return SchemaReport(name, folder, (("schema.yaml", str(error)),))
        errors = [
            (f"artifacts.{one.id}.template", f"Template '{one.template}' must be a file.")
            for one in place.schema.artifacts
            if not is_file(place.folder / "templates" / one.template)
        ]
        apply, warnings = place.schema.apply, []
        if apply and apply.tracks is not None and apply.tracks not in place.schema.outputs:
            told = f"apply.tracks '{apply.tracks}' is what no artifact generates."
            warnings.append(("apply.tracks", told))
        return SchemaReport(name, place.folder, tuple(errors), tuple(warnings))

    def own(self) -> list[str]:
        """The schemas of the project itself, by name."""
        try:
            found = [one.name for one in self.folder.iterdir() if is_file(one / "schema.yaml")]
        except OSError:
            return []
        return sorted(name for name in found if not name.startswith("."))

    def _free(self, name: str, *, force: bool) -> Path:
        if not KEBAB.fullmatch(name):
            raise InvalidNameError("schema name", name, "must be in kebab-case")
        check_inside(self._openspec, self.folder)
        target = self.folder / name
        if target.exists() and not force:
            raise ConflictError(
                f"Schema '{name}' already exists at {target}",
                suggestions=["Choose another name, or replace it with --force."],
            )
        return target

    def _put(self, staging: Path, target: Path) -> None:
        """Put what was made in place of what was there; that goes last."""
        old = target.with_name(f"{target.name}.fork-backup-")
        shutil.rmtree(old, ignore_errors=True)
        if target.exists():
            target.rename(old)
        staging.rename(target)
        shutil.rmtree(old, ignore_errors=True)


def _template(artifact: str) -> str:
    """Where a schema made here keeps the template of an artifact, below its `templates/`."""
    return "specs/spec.md" if artifact == "specs" else f"{artifact}.md"


def _requires(artifact: str, chosen: Sequence[str]) -> list[str]:
    """The nearest artifact before it: each of those chosen builds on the last."""
    before = ("proposal",) if artifact == "specs" else ("specs",)
    if artifact == "tasks":
        before = ("design",) if "design" in chosen else ("specs",)
    return [] if artifact == "proposal" else [one for one in before if one in chosen]
