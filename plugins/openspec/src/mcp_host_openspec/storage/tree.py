"""An OpenSpec tree on disk, read: its specs, its changes, their files."""

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

from ..errors import (
    BadFileError,
    MetadataError,
    NoTreeError,
    OpenSpecError,
    OutsideTreeError,
    SchemaError,
)
from ..model.collation import collation_key
from ..model.delta import DeltaDocument
from ..model.proposal import Proposal
from ..model.spec import SpecDocument
from ..model.tasks import Progress, TaskDocument
from ..model.text import code_unit_key
from .files import Files, exists, is_file, is_folder
from .history import History
from .metadata import ChangeMetadata, Marker, ProjectConfig
from .records import FOLDER as RECORDS
from .roots import Root
from .schemas import Schema, SchemaPlace, Schemas, outputs
from .state import State, state_of, state_of_all

T = TypeVar("T")

ARCHIVE: Final = "archive"
_MARKERS: Final = (".openspec.yaml", "proposal.md", "tasks.md", "design.md")
_DEEPEST: Final = 3


class Tree:
    """Reads one tree. What was parsed is kept until its file changes.

    Invariants: what it was made with never changes. All that is read lies below `openspec`, but for
    the user's schemas in `_outside`. What is kept is `files`' and `schemas`' to forget when it
    changes on disk.
    """

    def __init__(self, root: Root, files: Files, user_schemas: Path | None = None) -> None:
        self.root: Final = root
        self.files: Final = files
        self.openspec: Final = root.openspec
        self.specs: Final = self.openspec / "specs"
        self.changes: Final = self.openspec / "changes"
        self.archive: Final = self.changes / ARCHIVE
        self.outside: Final = (user_schemas,) if user_schemas else ()
        folders = [self.openspec / "schemas", *self.outside]
        self.schemas: Final = Schemas(folders, files)
        configurations = (self.openspec / name for name in ("config.yaml", "config.yml"))
        self._shared = (*configurations, *folders)
        self.history: Final = History(self.openspec)
        self._metadata = ChangeMetadata(self.openspec, self.schemas, files)

    def check_there(self) -> None:
        """Raise NoTreeError, or BadFileError where a file stands in the tree's place."""
        if is_folder(self.openspec):
            return
        if exists(self.openspec):
            raise BadFileError(self.openspec, "this must be a folder, and is a file")
        raise NoTreeError(self.openspec)

    def spec_paths(self) -> dict[str, Path]:
        """The main specs one may look at: capability to file, in code unit order."""
        return self.find_specs()[0]

    def find_specs(self) -> tuple[dict[str, Path], dict[str, OpenSpecError]]:
        """The main specs: those one may look at, and by capability why not at the others."""
        barred: dict[str, OpenSpecError] = {}
        try:
            return dict(discover(self.specs, barred)), barred
        except NotADirectoryError as error:
            raise BadFileError(self.specs, "this must be a folder, and is a file") from error
        except OSError as error:
            raise unreadable(self.specs, error) from error

    def spec_path(self, capability: str) -> Path:
        """Where the spec of a capability is or would be."""
        return self.specs.joinpath(*capability.split("/"), "spec.md")

    def spec(self, capability: str) -> SpecDocument:
        """The main spec of a capability; OSError where there is none."""
        path = f"{self.specs}/{capability}/spec.md"
        if _passes_link(path, below=len(str(self.specs))):
            check_inside(self.specs, Path(path))
        return self.spec_at(path)

    def spec_at(self, path: Path | str) -> SpecDocument:
        """The main spec in a file that was found in the tree."""
        return self.files.document(path, SpecDocument)

    def is_linked_out(self, capability: str) -> bool:
        """Whether the capability's whole folder lies outside the tree, by a symbolic link."""
        folder = self.spec_path(capability).parent
        return not folder.resolve().is_relative_to(self.specs.resolve())

    def change_ids(self, *, hidden: bool = False) -> list[str]:
        """The active changes, by name in byte order; with `hidden`, also those with a dot."""
        return [
            name
            for name in _folders(self.changes)
            if name != ARCHIVE and (hidden or not name.startswith("."))
        ]

    def archived_ids(self) -> list[str]:
        """The archived changes, by name in byte order."""
        return [name for name in _folders(self.archive) if not name.startswith(".")]

    def change_path(self, change: str) -> Path:
        """The folder of an active change."""
        return self.changes / change

    def delta_paths(self, change: Path) -> dict[str, Path]:
        """The delta files of a change: capability to file, in code unit order."""
        return dict(discover(change / "specs"))

    def delta_at(self, path: Path | str) -> DeltaDocument:
        """The delta in a file."""
        return self.files.document(path, DeltaDocument)

    def unread_deltas(self, change: Path) -> list[tuple[str, str]]:
        """Delta files in places nobody reads: the path, and where its text belongs."""
        found = []
        for segments, path in _markdown(change / "specs"):
            if self.delta_at(path).delta.present:
                capability = "/".join(segments) or path.name[: -len(".md")]
                found.append(("/".join([*segments, path.name]), f"{capability}/spec.md"))
        return sorted(found, key=lambda pair: code_unit_key(pair[0]))

    def hidden_deltas(self, change: Path) -> list[Path]:
        """Delta files in folders whose name begins with a dot; nobody reads those either."""
        return sorted(
            Path(entry.path)
            for segments, entry in _entries(change / "specs", hidden=True)
            if any(part.startswith(".") for part in segments)
            and entry.name.lower().endswith(".md")
            and entry.is_file()
            and self.delta_at(entry.path).delta.present
        )

    def proposal(self, change: Path) -> Proposal | None:
        """The proposal of a change, if it has one."""
        return self._optional(change, "proposal.md", Proposal)

    def text(self, folder: Path, name: str) -> str | None:
        """A file of a change as text, if it is there."""
        return self._optional(folder, name, _decode)

    def marker_skip_specs(self, change: Path) -> Marker:
        """Whether the change declares that it changes no spec."""
        return self._metadata.marker(change, "skip_specs")

    def marker_retire(self, change: Path) -> Marker:
        """Whether the change declares that specs left empty go."""
        return self._metadata.marker(change, "retire_capabilities")

    def created(self, change: Path) -> str | None:
        """The day on which the change was begun, as it says itself: YYYY-MM-DD."""
        return self._metadata.created(change)

    def context(self) -> str | None:
        """The project context in the configuration, if there is any."""
        return self._metadata.context()

    def schema_of(self, change: Path, given: str | None = None) -> SchemaPlace:
        """The schema a change follows, or another that is given; SchemaError, MetadataError."""
        own = self._metadata.schema(change) if given is None else given
        return self.schemas.place(own)

    def own_schema(self, change: Path | None) -> Schema | None:
        """The schema of its own that a change, or with None a new one, follows.

        None where that is the built-in one; SchemaError, MetadataError where there is none.
        """
        metadata = self._metadata
        name = metadata.default_schema() if change is None else metadata.schema(change)
        return None if self.schemas.is_built_in(name) else self.schemas.get(name)

    @property
    def config(self) -> ProjectConfig:
        """What the project's configuration says."""
        return self._metadata.config()

    def tracked_tasks(self, change: Path) -> list[Path]:
        """The task files the change's schema names, those that are there.

        OutsideTreeError where one of them is a symbolic link that leads out of the change.
        """
        schema = self._schema(change)
        if schema is None or schema.tasks is None:
            return []
        try:
            found = outputs(change, schema.tasks)
        except OSError:
            return []
        for path in found:
            if _passes_link(str(path), below=len(str(change))):
                check_inside(change, path)
        return found

    def numbers_tasks(self, change: Path) -> bool:
        """Whether the change follows the built-in schema, whose tasks are numbered."""
        try:
            return self.schemas.is_built_in(self._metadata.schema(change))
        except MetadataError:
            return False

    def task_documents(self, change: Path) -> tuple[dict[str, TaskDocument], list[Path]]:
        """The task files by path within the change, and those that cannot be read."""
        documents: dict[str, TaskDocument] = {}
        unreadable = []
        for path in self.tracked_tasks(change) or [change / "tasks.md"]:
            try:
                documents[_shown(path, change)] = self.files.document(path, TaskDocument)
            except FileNotFoundError:
                continue
            except (OSError, OpenSpecError):
                unreadable.append(path)
        ordered = sorted(documents, key=collation_key)
        return {name: documents[name] for name in ordered}, unreadable

    def state(self, change: str) -> State | None:
        """What tells one state of a change, and of all it depends on, from another."""
        records = self.openspec / RECORDS / "bases" / change
        shared = (*self._shared, records)
        return state_of(self.change_path(change), self.specs, shared, (self.archive,))

    def whole_state(self) -> State | None:
        """What tells one state of all that validation reads from another; None where unsure."""
        state = state_of_all((self.openspec, *self.outside))
        return None if state is None else (self.history.mark(), *state)

    def progress(self, change: Path) -> Progress:
        """How many of the change's tasks are done."""
        documents, _ = self.task_documents(change)
        return sum((document.progress for document in documents.values()), Progress())

    def modified(self, change: Path) -> datetime:
        """When the change's newest file was written, to the millisecond."""
        newest = max(_file_times(str(change)), default=None)
        return self.written(change) if newest is None else _moment(newest)

    def written(self, change: Path) -> datetime:
        """When the change's folder itself was written, to the millisecond."""
        return _moment(change.stat().st_mtime_ns)

    def nested_changes(self, name: str) -> list[str]:
        """The changes wrapped in a folder that is none itself; empty for a real change."""
        folder = self.changes / name
        if name == ARCHIVE or name.startswith(".") or self._is_change(folder):
            return []
        if any(not entry.is_dir(follow_symlinks=False) for entry in _visible(folder)):
            return []
        return sorted(self._wrapped(folder, name, 1), key=code_unit_key)

    def _wrapped(self, folder: Path, prefix: str, depth: int) -> Iterator[str]:
        if depth > _DEEPEST:
            return
        for entry in _visible(folder):
            if not entry.is_dir(follow_symlinks=False):
                continue
            name = f"{prefix}/{entry.name}"
            if self._is_change(folder / entry.name):
                yield name
            else:
                yield from self._wrapped(folder / entry.name, name, depth + 1)

    def _is_change(self, folder: Path) -> bool:
        base = str(folder)
        if any(os.path.isfile(f"{base}/{marker}") for marker in _MARKERS):  # noqa: PTH113 (hot)
            return True
        try:
            if has_files(folder / "specs"):
                return True
        except OSError:
            pass
        schema = self._schema(folder)
        return schema is not None and any(outputs(folder, output) for output in schema.outputs)

    def _schema(self, change: Path) -> Schema | None:
        try:
            return self.schemas.get(self._metadata.schema(change))
        except (MetadataError, SchemaError):
            return None

    def _optional(self, folder: Path, name: str, parse: Callable[[bytes], T]) -> T | None:
        path = folder / name
        try:
            check_inside(folder, path)
            return self.files.document(path, parse)
        except FileNotFoundError:
            return None
        except IsADirectoryError as error:
            raise BadFileError(path, "this must be a file, and is a folder") from error
        except OSError as error:
            raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> BadFileError:
    """The error for a file the system does not let us read; the error may know which it is."""
    named = error.filename if isinstance(error.filename, str) else path
    return BadFileError(Path(named), f"cannot be read: {error.strerror or error}")


def discover(specs: Path, barred: dict[str, OpenSpecError] | None = None) -> list[tuple[str, Path]]:
    """The `spec.md` files below a folder, each with the path of its capability.

    What one may not look at is an error; with `barred` it goes there, by its capability.
    """
    found: list[tuple[str, Path]] = []
    for segments, entry in _entries(specs, barred=barred):
        if entry.name != "spec.md" or not segments or entry.is_dir(follow_symlinks=False):
            continue
        path, capability = Path(entry.path), "/".join(segments)
        try:
            if entry.is_symlink() and not _is_file_inside(specs, path):
                continue
        except OpenSpecError as error:
            if barred is None:
                raise
            barred[capability] = error.with_traceback(None)
            continue
        found.append((capability, path))
    return sorted(found, key=lambda pair: code_unit_key(pair[0]))


def has_files(folder: Path) -> bool:
    """Whether any file lies below the folder, dot names aside; OSError where it is no folder."""
    return any(
        entry.is_file(follow_symlinks=False) or entry.is_symlink() for _, entry in _entries(folder)
    )


def check_inside(allowed: Path, path: Path) -> None:
    """Raise OutsideTreeError where a path, links followed, leaves the folder."""
    try:
        inside = path.resolve().is_relative_to(allowed.resolve())
    except (OSError, RuntimeError) as error:
        raise BadFileError(path, "the symbolic links lead in a circle") from error
    if not inside:
        raise OutsideTreeError(path)


def _is_file_inside(specs: Path, path: Path) -> bool:
    try:
        if not is_file(path):
            path.stat()
            return False
    except FileNotFoundError:
        return False
    except OSError as error:
        raise unreadable(path, error) from error
    check_inside(specs, path)
    return True


def _entries(
    folder: Path, *, hidden: bool = False, barred: dict[str, OpenSpecError] | None = None
) -> Iterator[tuple[list[str], os.DirEntry[str]]]:
    """All that lies below a folder, dot names aside; nothing where the folder is missing.

    A folder below it that cannot be listed is an error; with `barred` it goes there, by its path.
    """
    waiting: list[tuple[str, list[str]]] = [(str(folder), [])]
    while waiting:
        path, segments = waiting.pop()
        try:
            entries = list(os.scandir(path))
        except FileNotFoundError:
            continue
        except OSError as error:
            if barred is None or not segments:
                raise
            barred["/".join(segments)] = unreadable(Path(path), error)
            continue
        for entry in entries:
            if entry.name.startswith(".") and not hidden:
                continue
            yield segments, entry
            if entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, [*segments, entry.name]))


def _markdown(specs: Path) -> Iterator[tuple[list[str], Path]]:
    """The Markdown files below a folder that are no `spec.md`."""
    try:
        for segments, entry in _entries(specs):
            if entry.name == "spec.md" or not entry.name.lower().endswith(".md"):
                continue
            if entry.is_file():
                yield segments, Path(entry.path)
    except NotADirectoryError:
        return


def _visible(folder: Path) -> list[os.DirEntry[str]]:
    try:
        return [entry for entry in os.scandir(folder) if not entry.name.startswith(".")]
    except OSError:
        return []


def _folders(folder: Path) -> list[str]:
    try:
        names = [e.name for e in os.scandir(folder) if e.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    except NotADirectoryError as error:
        raise BadFileError(folder, "this must be a folder, and is a file") from error
    except OSError as error:
        raise unreadable(folder, error) from error
    return sorted(names, key=os.fsencode)


def _file_times(folder: str) -> Iterator[int]:
    for entry in os.scandir(folder):
        try:
            if entry.is_dir(follow_symlinks=False):
                yield from _file_times(entry.path)
            else:
                yield entry.stat().st_mtime_ns
        except FileNotFoundError:
            continue
        except OSError as error:
            if not entry.is_symlink():
                raise unreadable(Path(entry.path), error) from error


def _moment(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(int(nanoseconds / 1_000_000 + 0.5) / 1000, UTC)


def _passes_link(path: str, *, below: int) -> bool:
    """Whether a part of the path beyond its first `below` characters is a symbolic link."""
    end = below
    while (end := path.find("/", end + 1)) != -1:
        if os.path.islink(path[:end]):  # noqa: PTH114 (hot path)
            return True
    return os.path.islink(path)  # noqa: PTH114 (hot path)


def _shown(path: Path, change: Path) -> str:
    if path.parent == change and not path.is_symlink():
        return path.name
    real, top = path.resolve(), change.resolve()
    return real.relative_to(top).as_posix() if real.is_relative_to(top) else path.name


def _decode(data: bytes) -> str:
    return data.decode("utf-8", errors="replace").removeprefix("\ufeff")
