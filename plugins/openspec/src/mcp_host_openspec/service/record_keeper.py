"""What an archive keeps in the tree, for parallel changes and for taking it back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import NotFoundError, OpenSpecError, RefusedError
from ..model.delta import Delta
from ..model.names import nearest
from ..model.spec import SpecDocument
from ..storage.history import blob_id
from ..storage.records import (
    ArchiveRecord,
    BaseRecord,
    Records,
    SpecRecord,
    edits_between,
    undone,
    written,
)
from ..storage.transaction import Write
from ..storage.tree import Tree, check_inside
from .archive_plan import WRITING, Plan, SpecPlan
from .bases import Bases, claims

_DATE: Final = len("2026-01-31-")


class Undone(NamedTuple):
    """An archive that was taken back."""

    change: str
    archived: str
    """The name it had among the archived changes."""
    capabilities: tuple[str, ...]


class RecordKeeper:
    """Makes the records of one tree, and reads them back."""

    def __init__(self, tree: Tree, records: Records, bases: Bases) -> None:
        self._tree = tree
        self._records = records
        self._bases = bases

    def of_archive(self, plan: Plan) -> list[Write]:
        """What to write and to remove beside the specs when a change is archived."""
        check_inside(self._tree.openspec, self._records.folder)
        changed = [spec for spec in plan.specs if spec.outcome in WRITING]
        own = self._records.files_about(plan.change)
        record = ArchiveRecord(
            plan.change,
            tuple(_spec_record(spec) for spec in changed),
            {path.name: data.decode() for path, data in own.items()},
        )
        path = self._records.archived_path(plan.target.name)
        return [
            Write(path, _bytes(path), written(record)),
            *(Write(path, data, None) for path, data in own.items()),
            *(
                write
                for other in self._tree.change_ids()
                if other != plan.change
                for write in self._of_other(other, changed, plan)
            ),
        ]

    def find(self, name: str) -> tuple[str, ArchiveRecord]:
        """The archived change of this name, or the newest of this id, and what its archive did."""
        archived = self._tree.archived_ids()
        same_id = [one for one in archived if one[_DATE:] == name and one[:1].isdigit()]
        if name not in archived and not same_id:
            raise NotFoundError("Archived change", name, nearest(name, archived))
        found = name if name in archived else max(same_id)
        record = self._records.archived(found)
        if record is None:
            raise RefusedError(
                "unarchive_unrecorded",
                f"Nothing in the tree tells what the archive of '{found}' did to the specs.",
                suggestions=["Take it back with git, by reverting the commit that archived it."],
            )
        return found, record

    def of_undoing(self, archived: str, record: ArchiveRecord) -> list[Write]:
        """What to write to take an archive back; RefusedError where a spec was edited since."""
        check_inside(self._tree.openspec, self._records.folder)
        writes = []
        for spec in record.specs:
            path = self._tree.spec_path(spec.capability)
            now = _bytes(path)
            if (None if now is None else blob_id(now)) != spec.after:
                raise RefusedError(
                    "unarchive_edited_since",
                    f"The spec of {spec.capability} was edited since '{archived}' was archived.",
                    suggestions=["Take the later archives back first, or edit the spec by hand."],
                )
            before = None if spec.before is None else undone(now or b"", spec.edits)
            writes.append(Write(path, now, before))
        folder = self._records.bases_of(record.change)
        for name, text in record.bases.items():
            path = folder / Path(name).name
            writes.append(Write(path, _bytes(path), text.encode()))
        path = self._records.archived_path(archived)
        return [*writes, Write(path, _bytes(path), None)]

    def _of_other(self, change: str, changed: list[SpecPlan], plan: Plan) -> Iterator[Write]:
        """What another active change must know of the requirements that are rewritten."""
        begun = dict(self._records.begun(change))
        moved = dict(begun)
        for spec in changed:
            if spec.old is None:
                continue
            if begun.get(spec.capability) == blob_id(spec.old) and spec.new is not None:
                moved[spec.capability] = blob_id(spec.new)
            for record in self._bases_to_keep(change, spec, plan):
                path = self._records.base_path(change, record.capability, record.requirement)
                yield Write(path, _bytes(path), written(record))
        if moved != begun:
            path = self._records.begun_path(change)
            yield Write(path, _bytes(path), written(moved))

    def _bases_to_keep(self, change: str, spec: SpecPlan, plan: Plan) -> Iterator[BaseRecord]:
        delta = self._delta(change, spec.capability)
        if delta is None or spec.old is None:
            return
        old, new = SpecDocument(spec.old), SpecDocument(spec.new or b"")
        renamed = self._renamed_by(plan, spec.capability)
        for name, source in claims(delta).items():
            before, after = old.blocks.get(source), new.blocks.get(source)
            if before is None or (after is not None and before.raw == after.raw):
                continue
            base = self._bases.known(change, spec.capability, name, source, old)
            if base.suspects:
                continue  # it stays unknown what the delta's author saw
            text = before.raw if base.block is None else base.block.raw
            yield BaseRecord(spec.capability, source, text, renamed.get(source, base.renamed))

    def _delta(self, change: str, capability: str) -> Delta | None:
        path = self._tree.change_path(change) / "specs" / capability / "spec.md"
        try:
            return self._tree.delta_at(path).delta
        except (OSError, OpenSpecError):
            return None

    def _renamed_by(self, plan: Plan, capability: str) -> dict[str, str]:
        delta = self._delta(plan.change, capability)
        return {rename.old: rename.new for rename in delta.renamed} if delta else {}


def _spec_record(spec: SpecPlan) -> SpecRecord:
    return SpecRecord(
        spec.capability,
        None if spec.old is None else blob_id(spec.old),
        None if spec.new is None else blob_id(spec.new),
        () if spec.old is None else edits_between(spec.new or b"", spec.old),
    )


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
