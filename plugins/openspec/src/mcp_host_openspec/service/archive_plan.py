"""What an archive would do, as data."""

from pathlib import Path
from typing import Final, Literal, NamedTuple

from ..model.tasks import Progress
from .losses import Loss
from .merge import Counts

Outcome = Literal["create", "update", "unchanged", "retire", "skip"]
WRITING: Final = ("create", "update", "retire")


class Options(NamedTuple):
    """How an archive is to go about it."""

    update_specs: bool = True
    force: bool = False
    """Archive although tasks are open."""
    validate: bool = True
    accept: frozenset[str] = frozenset()
    """Losses to accept, by number."""


class SpecPlan(NamedTuple):
    """What becomes of one main spec."""

    capability: str
    name: str
    """Its file, relative to the project."""
    path: Path
    outcome: Outcome
    counts: Counts
    old: bytes | None
    new: bytes | None

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty where nothing changes."""
        if self.outcome in ("unchanged", "skip"):
            return ""
        import difflib  # only here, for archives

        return "".join(
            difflib.unified_diff(
                _diff_lines(self.old), _diff_lines(self.new), f"a/{self.name}", f"b/{self.name}"
            )
        )


class Plan(NamedTuple):
    """All that an archive would do; nothing has been written."""

    change: str
    source: Path
    target: Path
    specs: tuple[SpecPlan, ...]
    totals: Counts | None
    """None where specs are not updated or the change has none."""
    warnings: tuple[str, ...]
    losses: tuple[Loss, ...]
    progress: Progress
    read: dict[Path, str | None]
    """The change's files the plan was made from, by content."""

    @property
    def target_name(self) -> str:
        """Where the change goes, relative to the project."""
        return "/".join(self.target.parts[-4:])

    @property
    def specs_updated(self) -> bool:
        """Whether any main spec changes."""
        return any(spec.outcome in WRITING for spec in self.specs)


def _diff_lines(data: bytes | None) -> list[str]:
    if data is None:
        return []
    lines = data.decode("utf-8", errors="replace").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n\\ No newline at end of file\n"
    return lines
