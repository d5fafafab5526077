"""Archives as one step: new specs in place and the change moved, or everything as it was.

All that will be written is first written into a journal folder beside the archive, together with
what it replaces. The plan that is put there last is the point of no return: without it, the next
start throws the journal away; with it, the next start finishes what it says, or puts everything
back where a person has edited one of the specs in between.
"""

import contextlib
import errno
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import ChangedError, OpenSpecError
from .files import exists
from .lock import archive_lock, is_held
from .records import FOLDER as RECORDS
from .roots import Root
from .writes import digest, digest_of, disk_errors, mode_of, sync_folder, write_synced

JOURNAL: Final = ".openspec-archive.journal"
_PLAN: Final = "plan.json"


class Write(NamedTuple):
    """One spec to write (`new`) or, without it, to remove."""

    path: Path
    old: bytes | None
    """What the file held when it was read; None where it was not there."""
    new: bytes | None


class _Step(NamedTuple):
    """A write as the plan keeps it: paths relative to the project, contents by digest."""

    path: str
    old: str | None
    new: str | None


class _Plan(NamedTuple):
    steps: list[_Step]
    folders: list[str]
    """Folders that had to be made, outermost first."""
    change: str
    target: str


def _plain(plan: _Plan) -> bytes:
    """A plan as it is kept."""
    return json.dumps({**plan._asdict(), "steps": [step._asdict() for step in plan.steps]}).encode()


class Archive:
    """The writing side of a tree's `changes/archive`; all it writes lies in the project."""

    def __init__(self, root: Root) -> None:
        self._project = root.path.resolve()
        self._specs = (root.openspec / "specs").resolve()
        self._records = (root.openspec / RECORDS).resolve()
        self._archive = root.openspec / "changes" / "archive"
        self._journal = self._archive / JOURNAL

    @property
    def interrupted(self) -> bool:
        """Whether an archive was cut short and nobody is at work on it."""
        return exists(self._journal) and not is_held(self._archive)

    def run(self, change: Path, target: Path, plan: Callable[[], list[Write]]) -> None:
        """Write what `plan` says and move the change's folder to the archive.

        `plan` is asked once the lock is held, and may raise to stop everything. Raises LockedError,
        ChangedError where a file is not what was read, or CannotWriteError; nothing was changed
        then.
        """
        with disk_errors(self._archive), archive_lock(self._archive):
            self._finish_interrupted()
            self._apply(change, target, plan())

    def recover(self) -> None:
        """Finish or undo an archive that was cut short; LockedError where another is at work."""
        with disk_errors(self._archive), archive_lock(self._archive):
            self._finish_interrupted()

    def _apply(self, change: Path, target: Path, writes: list[Write]) -> None:
        plan = self._stage(change, target, writes)
        try:
            for number, step in enumerate(plan.steps):
                self._check_unchanged(step)
                self._put(number, step)
            _move(change, target)
        except BaseException:
            self._put_back(plan)
            self._drop()
            raise
        self._drop()

    def _stage(self, change: Path, target: Path, writes: list[Write]) -> _Plan:
        """Write everything into the journal; the plan comes last."""
        steps = [self._step(write) for write in writes]
        plan = _Plan(
            steps,
            self._missing_folders(steps),
            self._relative(change),
            self._relative(target),
        )
        try:
            self._journal.mkdir()
            for number, write in enumerate(writes):
                mode = mode_of(write.path)
                if write.new is not None:
                    write_synced(self._new(number), write.new, mode)
                if write.old is not None:
                    write_synced(self._old(number), write.old, mode)
            draft = self._journal / f"{_PLAN}.draft"
            write_synced(draft, _plain(plan))
            draft.rename(self._journal / _PLAN)
            sync_folder(self._journal)
            sync_folder(self._archive)
        except BaseException:
            self._drop()
            raise
        return plan

    def _put(self, number: int, step: _Step) -> None:
        path = self._project / step.path
        if step.new is None:
            path.unlink()
            for boundary in (self._specs, self._records):
                _prune(path.parent, boundary)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(self._new(number), path)
        sync_folder(path.parent)

    def _check_unchanged(self, step: _Step) -> None:
        if digest_of(self._project / step.path) != step.old:
            raise ChangedError(
                f"{self._project / step.path} was edited while the archive was under way; "
                "nothing was changed.",
                suggestions=["Run the archive again."],
                path=str(self._project / step.path),
            )

    def _finish_interrupted(self) -> None:
        if not exists(self._journal):
            return
        plan = self._read_plan()
        if plan is not None:
            change, target = self._project / plan.change, self._project / plan.target
            if not exists(change) and exists(target):
                pass  # the move was the last step
            elif exists(change) and not exists(target) and self._can_finish(plan):
                self._finish(plan)
                _move(change, target)
            else:
                self._put_back(plan)
        self._drop()

    def _can_finish(self, plan: _Plan) -> bool:
        """Whether every spec is as it was or as it shall be: nobody edited one since."""
        return all(digest_of(self._project / s.path) in (s.old, s.new) for s in plan.steps)

    def _finish(self, plan: _Plan) -> None:
        for number, step in enumerate(plan.steps):
            if digest_of(self._project / step.path) != step.new:
                self._put(number, step)

    def _put_back(self, plan: _Plan) -> None:
        """Give every spec that was written its old content; leave what a person edited."""
        for number, step in reversed(list(enumerate(plan.steps))):
            path = self._project / step.path
            if digest_of(path) != step.new or step.new == step.old:
                continue
            if step.old is None:
                path.unlink(missing_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                _replace(self._old(number), path)
        for folder in reversed(plan.folders):
            with contextlib.suppress(OSError):
                (self._project / folder).rmdir()

    def _read_plan(self) -> _Plan | None:
        try:
            raw = json.loads((self._journal / _PLAN).read_bytes())
            steps = [_Step(**step) for step in raw["steps"]]
            plan = _Plan(steps, raw["folders"], raw["change"], raw["target"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise OpenSpecError(
                f"The journal {self._journal / _PLAN} of an interrupted archive is not readable.",
                suggestions=[
                    "It holds the specs before (.old) and after (.new) the archive: "
                    "put the right ones in place, then remove it."
                ],
                path=str(self._journal),
            ) from error
        for path in [*(s.path for s in steps), *plan.folders, plan.change, plan.target]:
            if not (self._project / path).resolve().is_relative_to(self._project):
                raise OpenSpecError(
                    f"The journal {self._journal} names {path}, outside the project."
                )
        return plan

    def _drop(self) -> None:
        """Remove the journal, its plan first, so that what is left of it never counts."""
        import shutil  # only here, for archives

        (self._journal / _PLAN).unlink(missing_ok=True)
        shutil.rmtree(self._journal, ignore_errors=True)

    def _step(self, write: Write) -> _Step:
        return _Step(
            self._relative(write.path.resolve()),
            None if write.old is None else digest(write.old),
            None if write.new is None else digest(write.new),
        )

    def _missing_folders(self, steps: list[_Step]) -> list[str]:
        missing = {
            folder
            for step in steps
            for folder in (self._project / step.path).parents
            if folder.is_relative_to(self._project) and not exists(folder)
        }
        return [self._relative(folder) for folder in sorted(missing, key=lambda f: len(f.parts))]

    def _relative(self, path: Path) -> str:
        real = path.parent.resolve() / path.name
        return real.relative_to(self._project).as_posix()

    def _new(self, number: int) -> Path:
        return self._journal / f"{number}.new"

    def _old(self, number: int) -> Path:
        return self._journal / f"{number}.old"


def _move(change: Path, target: Path) -> None:
    """Rename a change's folder into the archive; never over another."""
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, "the archived change exists already", str(target))
    change.rename(target)
    sync_folder(target.parent)
    sync_folder(change.parent)


def _replace(staged: Path, path: Path) -> None:
    try:
        staged.replace(path)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        # The spec lies on another file system: bring the content over first, then rename.
        beside = path.with_name(f".{path.name}.tmp")
        beside.unlink(missing_ok=True)
        write_synced(beside, staged.read_bytes(), mode_of(staged))
        beside.replace(path)


def _prune(folder: Path, boundary: Path) -> None:
    """Remove folders left empty, up to the boundary itself, which stays."""
    for empty in _upwards(folder, boundary):
        try:
            empty.rmdir()
        except OSError:
            return


def _upwards(folder: Path, boundary: Path) -> Iterator[Path]:
    while folder != boundary and folder.is_relative_to(boundary):
        yield folder
        folder = folder.parent
