"""What becomes of the specs that a change touches."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ..errors import MergeError, OpenSpecError, RefusedError
from ..model.delta import DeltaDocument
from ..model.spec import SpecDocument
from ..storage.files import exists
from ..storage.metadata import FILE_NAME
from ..storage.tree import Tree, unreadable
from ..storage.writes import digest_of
from .archive_plan import Options, Outcome, Plan, SpecPlan
from .bases import Bases
from .cache import Merges
from .losses import Loss, delta_losses, merge_losses, refuse
from .merge import Counts, Merged, rebuilt_spec
from .retirement import unaccounted
from .rules.spec import hidden_findings
from .tree_losses import stale_references, unmerged


class SpecPlans:
    """Works out what becomes of the specs that one change touches."""

    def __init__(
        self,
        tree: Tree,
        merges: Merges,
        bases: Bases,
        change: str,
        source: Path,
        options: Options,
    ) -> None:
        self._tree = tree
        self._bases = bases
        self._merges = merges
        self._change = change
        self._source = source
        self._options = options
        self._retire = tree.marker_retire(source).declared
        self._losses: list[Loss] = []
        self._warnings: list[str] = []
        self._read: dict[Path, str | None] = {}

    def complete(self, plan: Plan) -> Plan:
        """The plan with its specs; RefusedError where one cannot or must not be written."""
        metadata = self._source / FILE_NAME
        self._read[metadata] = digest_of(metadata)
        specs = []
        merges: list[tuple[str, Merged, SpecDocument | None]] = []
        for capability, document, current in self._inputs():
            merged = self._merge(capability, document, current)
            merges.append((capability, merged, current))
            self._note_losses(capability, document, merged, current)
            specs.append(self._spec_plan(capability, merged, current))
            self._warnings += merged.warnings
            self._warnings += stale_references(self._tree, document)
        self._losses += self._unmerged()
        for capability, merged, current in merges:
            self._check_rebuilt(capability, merged, current, specs)
        refuse(self._change, self._losses, self._options.accept)
        _check_distinct(specs)
        return plan._replace(
            specs=tuple(specs),
            totals=sum((spec.counts for spec in specs), Counts()) if specs else None,
            # A merge warns of what L6 is about by itself.
            warnings=(
                *self._warnings,
                *(loss.warning for loss in self._losses if loss.number != "L6"),
            ),
            losses=tuple(self._losses),
            read=self._read,
        )

    def losses(self) -> tuple[Loss, ...]:
        """The losses alone, of whatever can be merged."""
        try:
            inputs = list(self._inputs())
        except (OSError, OpenSpecError):
            return ()
        for capability, document, current in inputs:
            try:
                merged = self._merge(capability, document, current)
            except RefusedError:
                merged = None
            self._note_losses(capability, document, merged, current)
        self._losses += self._unmerged()
        return tuple(self._losses)

    def _unmerged(self) -> Iterator[Loss]:
        return unmerged(self._tree, self._source, validate=self._options.validate)

    def _inputs(self) -> Iterator[tuple[str, DeltaDocument, SpecDocument | None]]:
        try:
            paths = self._tree.delta_paths(self._source)
        except NotADirectoryError as error:
            raise RefusedError(
                "archive_error", f"{self._source / 'specs'} must be a folder."
            ) from error
        for capability, path in paths.items():
            try:
                document = self._tree.delta_at(path)
            except OSError as error:
                raise unreadable(path, error) from error
            self._read[path] = document.digest
            yield capability, document, self._current(capability)

    def _current(self, capability: str) -> SpecDocument | None:
        try:
            return self._tree.spec(capability)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise unreadable(self._tree.spec_path(capability), error) from error

    def _merge(
        self, capability: str, document: DeltaDocument, current: SpecDocument | None
    ) -> Merged:
        bases = self._bases.of(self._change, capability, document, current)
        merged = self._merges.attempt(
            document, current, capability, self._change, self._options.accept, bases
        )
        if isinstance(merged, MergeError):
            raise RefusedError(
                "archive_spec_update_failed",
                f"{merged}. Nothing was changed.",
                suggestions=["Fix the change's delta and archive again."],
            )
        return merged

    def _note_losses(
        self,
        capability: str,
        document: DeltaDocument,
        merged: Merged | None,
        current: SpecDocument | None,
    ) -> None:
        path = f"specs/{capability}/spec.md"
        self._losses += self._merges.cache.with_others(
            document, (), ("losses", path), lambda: tuple(delta_losses(document, path))
        )
        if merged is None:
            return
        self._losses += merge_losses(merged, current, path)
        if not self._options.validate and not merged.blocks and merged.counts.total:
            self._losses.append(
                Loss("L10", path, f"The spec of {capability} would be left without requirements.")
            )

    def _spec_plan(self, capability: str, merged: Merged, current: SpecDocument | None) -> SpecPlan:
        outcome = self._outcome(merged, current)
        new = merged.written_over(current).encode("utf-8", "surrogatepass")
        path = self._tree.spec_path(capability)
        counts = merged.counts if outcome != "skip" else Counts()
        if outcome == "retire":
            self._warnings.append(
                f"{capability}: retired; its last requirement goes and the spec file with it"
            )
        return SpecPlan(
            capability,
            f"{self._tree.root.folder}/specs/{capability}/spec.md",
            path.resolve() if exists(path) else path,
            outcome,
            counts,
            None if current is None else current.data,
            None if outcome == "retire" else new,
        )

    def _outcome(self, merged: Merged, current: SpecDocument | None) -> Outcome:
        if self._retire and self._options.validate and _is_emptied(merged):
            if current is None:
                return "skip"
            if merged.counts.removed:
                return "retire"
        if not merged.counts.total:
            return "unchanged"
        return "create" if current is None else "update"

    def _check_rebuilt(
        self,
        capability: str,
        merged: Merged,
        current: SpecDocument | None,
        specs: list[SpecPlan],
    ) -> None:
        """Refuse a spec that would have errors it does not have now."""
        outcome = next(spec.outcome for spec in specs if spec.capability == capability)
        if not self._options.validate or outcome in ("retire", "skip"):
            return
        before = Counter(_errors(current)) if current is not None else Counter[tuple[str, str]]()
        fresh = Counter(_errors(rebuilt_spec(merged))) - before
        if not fresh:
            return
        rule, message = next(iter(fresh))
        raise RefusedError(
            "archive_spec_validation_failed",
            f"The spec of {capability} would not be valid ({rule}): {message} Nothing was changed.",
            suggestions=[_retirement_hint(capability, merged) or "Fix the change's delta."],
        )


def _is_emptied(merged: Merged) -> bool:
    """Whether a spec has no requirement left, nothing else of worth, and no other error."""
    errors = [rule for rule, _ in _errors(rebuilt_spec(merged))]
    return not merged.blocks and errors == ["S3"] and not unaccounted(merged.parts)


def _retirement_hint(capability: str, merged: Merged) -> str | None:
    if merged.blocks or not merged.counts.removed:
        return None
    if lines := unaccounted(merged.parts):
        shown = "; ".join(line[:120] for line in lines[:3])
        return (
            f"The last requirement of {capability} goes, yet the spec holds more than that: "
            f"{shown}. Move it into the Purpose, or delete the spec by hand."
        )
    return (
        f"The last requirement of {capability} goes. To retire the spec, say "
        "'retire_capabilities: true' beside 'schema:' in the change's .openspec.yaml."
    )


def _errors(spec: SpecDocument) -> list[tuple[str, str]]:
    """The errors of a spec in a form that does not depend on their place."""
    return [(f.rule, f.message) for f in hidden_findings(spec) if f.level == "ERROR"]


def _check_distinct(specs: list[SpecPlan]) -> None:
    owners: dict[Path, str] = {}
    for spec in specs:
        real = spec.path.resolve()
        if real in owners:
            raise RefusedError(
                "archive_error",
                f"'{owners[real]}' and '{spec.capability}' are the same file, {real}.",
                suggestions=["Put both deltas into one, or drop the symbolic link."],
            )
        owners[real] = spec.capability
