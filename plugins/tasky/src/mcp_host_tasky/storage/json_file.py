"""The JSON store: a file for each task, which git can merge, and what belongs to this machine.

`tasks.json` says which format it is and where the tasks are; it never changes. In that folder each
task is a file, and files that git ignores hold events, keys, counters (`local.json`) and, outside a
repository, claims. A write holds a lock file and goes through a journal (`journal`), so that it is
kept whole or not at all.
"""

import errno
import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

try:
    import fcntl
except ImportError:  # Windows, whose file systems all have locks
    fcntl = None  # type: ignore[assignment]

from filelock import FileLock, Timeout

from ..errors import BusyError, TaskyError, UnavailableError
from ..model import Task
from ..model.dates import micros
from .journal import Journal, Pending, put, sync_folder, unusable
from .json_claims import NONE, ClaimsFile, Held
from .json_plan import VERSION, JsonPlan, head_text, older_plan, read_head
from .json_resolve import resolve_files
from .json_task import TaskState, corrupt, digest, read_task, task_text
from .json_view import JsonView
from .store import Guard, no_guard, read_only
from .upgrade import Backup
from .worktrees import unmerged

_WAIT_SECONDS = 25
_POLL_SECONDS = 0.003
_HEAD_BYTES = 200
_TRIES = 200
_UNLOCKED = 10
"""So often a reader tries without keeping writers out."""
_ID_LENGTH = 36
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)
_PROTECTED = (errno.EACCES, errno.EPERM, errno.EROFS)
# Of a plan with more files than this, those that an editor changed in place are looked for no more
# often than once a second; what Tasky or git changes is seen at once.
_LARGE = 1_000
_FRESH_SECONDS = 1.0
_IGNORED = "local.json*\njournal.json*\nclaims.json*\nclaims.lock\n*.tmp\n"

_Mark: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """The files of a plan. `shared` is where its claims are, if a repository's worktrees share
    them."""

    head: Path
    folder: Path
    shared: Path | None

    @property
    def local(self) -> Path:
        return self.folder / "local.json"

    @property
    def ready(self) -> Path:
        return self.folder / "local.json.next"

    @property
    def journal(self) -> Journal:
        return Journal(self.folder, self.folder / "journal.json", self.head)

    @property
    def claims(self) -> ClaimsFile:
        return ClaimsFile(self.shared or self.folder / "claims.json", self.head)

    def marks(self) -> tuple[object, ...]:
        """Return what differs once anything was written by Tasky or by git."""
        return (
            _mark(self.head),
            _beginning(self.local),
            _mark(self.local),
            _mark(self.folder),
            _mark(self.journal.path),
            _mark(self.claims.path),
        )


@dataclass(frozen=True, slots=True)
class _Seen:
    """A plan as it was when it was read, and what its files looked like then."""

    place: _Place | None = None
    marks: tuple[object, ...] = ()
    plan: JsonPlan = field(default_factory=JsonPlan)
    files: dict[str, tuple[_Mark, str]] = field(default_factory=dict)
    claims: dict[str, Held] = field(default_factory=dict)
    at: float = 0.0

    @property
    def is_fresh(self) -> bool:
        return len(self.files) > _LARGE and time.monotonic() - self.at < _FRESH_SECONDS


class JsonFile:
    """A plan in JSON files. Writers take turns by a lock file; readers wait for nobody."""

    kind = "json"

    def __init__(self, path: Path, shared: Path | None = None) -> None:
        # A link is followed: it is the file behind it that says where the plan is.
        self._path = path.resolve()
        self._shared = shared
        self._words: dict[str, tuple[Task, str]] = {}
        self._one_writer = threading.Lock()
        self._has_locks = False
        self._locks = [FileLock(f"{self._path}.lock", thread_local=False)]
        if shared is not None:
            self._locks.append(FileLock(f"{shared}.lock", thread_local=False))
        # One value, so that threads that read at once never mix a plan with another's marks.
        self._seen = _Seen()

    def open(self) -> "JsonFile":
        """Read the plan; make it where there is none, and upgrade an older one after a copy."""
        if not self._is_ready():
            with self._alone():
                self._prepare()
        self._current()
        return self

    @contextmanager
    def read(self, guard: Guard = no_guard) -> Iterator[JsonView]:
        yield JsonView(self._current(), self._words, guard)

    @contextmanager
    def write(self, guard: Guard = no_guard) -> Iterator[JsonView]:
        with self._alone():
            place = self._place()
            place.journal.finish()
            view = JsonView(self._current(whole=True).copy(), self._words, guard)
            yield view
            guard()
            if view.changed:
                self._save(place, view)

    def tidy(self, *, is_pause: bool = True) -> bool:
        """Every write leaves the files tidy."""
        return False

    def copied_whole(self, path: Path) -> bool:
        """Say that there is no SQLite file to be copied."""
        return False

    def close(self) -> None:
        """Nothing is held between calls."""

    def check(self) -> list[str]:
        """Say what is damaged, file by file."""
        found = []
        place = self._place()
        try:
            beside = _text(place.local)
            if beside is not None:
                JsonPlan().read_local(beside, place.local)
            place.claims.read()
        except TaskyError as error:
            found.append(error.message)
        if not place.folder.exists():
            return [*found, without_tasks(place.folder).message]
        left = unmerged(place.folder)
        for name, (_, text) in sorted(_files(place.folder, {}).items()):
            try:
                read_task(text, place.folder / name, None, "")
            except TaskyError as error:
                found.append(error.message)
            else:
                if name in left:
                    told = "git was not told how it was merged; run: tasky resolve"
                    found.append(f"{place.folder / name}: {told}")
        return found

    def resolve(self) -> list[Path]:
        """Bring both sides of a merge together where files hold two; return those files."""
        with self._alone():
            try:
                return resolve_files(self._path)
            except OSError as error:
                raise unusable(self._path, error) from error

    # Finding

    def _place(self) -> _Place:
        try:
            data = read_head(self._path)
        except OSError as error:
            raise unusable(self._path, error) from error
        if data["version"] != VERSION:
            raise UnavailableError(
                f"{self._path} was replaced by a plan of format {data['version']}.",
                reason="store_unusable",
                suggestions=["Start again: it is upgraded when it is opened."],
            )
        return _Place(self._path, self._path.parent / data["tasks"], self._shared)

    def _is_ready(self) -> bool:
        """Whether the plan can be read as it is: by somebody, perhaps, who may not write it."""
        try:
            return bool(read_head(self._path)["version"] == VERSION)
        except OSError:
            return False  # missing, or to be told of by who prepares it

    def _prepare(self) -> None:
        try:
            data = read_head(self._path)
        except FileNotFoundError:
            data = {"version": "", "tasks": {}}
        except OSError as error:
            raise unusable(self._path, error) from error
        if data["version"] == VERSION:
            return
        stem = self._path.stem if self._path.suffix == ".json" else f"{self._path.name}.tasks"
        place = _Place(self._path, self._path.parent / stem, self._shared)
        plan = JsonPlan()
        if data["version"]:
            plan = older_plan(data, self._path)
            Backup(self._path, data["version"]).copy()
            self._write_all(place, plan)
        elif not place.folder.exists():
            self._write_all(place, plan)
        put(self._path, head_text(stem), self._path)  # from here on it is a plan of this format
        sync_folder(self._path.parent)

    def _write_all(self, place: _Place, plan: JsonPlan) -> None:
        put(place.folder / ".gitignore", _IGNORED, place.head)
        for task in plan.tasks.values():
            text = task_text(task)
            plan.states[task.task_id] = TaskState.of(task, text)
            put(place.folder / f"{task.task_id}.json", text, place.head)
        put(place.local, plan.local_text(), place.head)
        held = {key: Held.of(task) for key, task in plan.tasks.items()}
        if any(one != NONE for one in held.values()):
            place.claims.write({key: one for key, one in held.items() if one != NONE})
        sync_folder(place.folder)

    # Reading

    def _current(self, *, whole: bool = False) -> JsonPlan:
        """Return the plan as the files hold it now; `whole`, for a writer, looks at every file."""
        read = self._seen
        for tried in range(_TRIES):
            if tried == _UNLOCKED and not whole:
                with suppress(TaskyError), self._alone():  # others write all the time
                    return self._current(whole=True)
            place = self._place()
            seen = read if read.place == place else _Seen(place)
            try:
                marks = place.marks()
                if marks == seen.marks and not whole and seen.is_fresh:
                    return seen.plan
                if marks == seen.marks and _files(place.folder, seen.files) == seen.files:
                    return seen.plan
                found = _loaded(place, seen, marks)
                if place.marks() == marks:
                    self._seen = found
                    return found.plan
                # Somebody wrote meanwhile: only what is new since is read once more.
                read = replace(found, marks=())
            except FileNotFoundError:
                continue  # a file that another process took away meanwhile
            except OSError as error:
                raise unusable(self._path, error) from error
        if not place.folder.exists():
            raise without_tasks(place.folder)
        raise _busy(self._path)

    # Writing

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._one_writer.acquire(timeout=_WAIT_SECONDS):
            raise _busy(self._path)
        with ExitStack() as stack:
            stack.callback(self._one_writer.release)
            for lock in self._locks:
                try:
                    Path(lock.lock_file).parent.mkdir(parents=True, exist_ok=True)
                    self._check_locks(lock.lock_file)
                    lock.acquire(timeout=_WAIT_SECONDS, poll_interval=_POLL_SECONDS)
                except Timeout as error:
                    raise _busy(self._path) from error
                except OSError as error:
                    if error.errno in _NO_LOCKS:
                        raise without_locks(self._path) from error
                    if error.errno in _PROTECTED and self._path.exists():
                        raise read_only(self._path, str(error.strerror)) from error
                    raise unusable(self._path, error) from error
                stack.callback(lock.release)
            yield

    def _check_locks(self, file: str) -> None:
        """Ask once whether the file system has locks: without them, filelock would take a file that
        is there for a lock that somebody holds."""
        if self._has_locks or fcntl is None:
            return
        with Path(file).open("a") as probe, suppress(BlockingIOError):
            fcntl.flock(probe, fcntl.LOCK_SH | fcntl.LOCK_NB)
        self._has_locks = True

    def _save(self, place: _Place, view: JsonView) -> None:
        plan, seen = view.plan, self._seen
        plan.generation += 1
        texts: dict[str, str | None] = {}
        before: dict[str, str | None] = {}
        claims = dict(seen.claims)
        for task_id in view.touched:
            task, known = plan.tasks.get(task_id), seen.plan.texts.get(task_id)
            text = task_text(task) if task else None
            if text != known:
                texts[f"{task_id}.json"] = text
                before[f"{task_id}.json"] = digest(known) if known is not None else None
            if task and text is not None:
                plan.texts[task_id] = text
                plan.states[task_id] = TaskState.of(task, text)
            else:
                plan.states.pop(task_id, None)
            claims[task_id] = Held.of(task)
        claims = {key: held for key, held in claims.items() if held != NONE}
        # A claim is taken before the rest is kept, and let go of after: whoever is killed between
        # holds a task too long, for as long as a lease, and never too short.
        taken = {**seen.claims, **{key: held for key, held in claims.items() if held.claim}}
        if taken != seen.claims:
            place.claims.write(taken)
        put(place.ready, plan.local_text(), place.head)
        try:
            place.journal.write(texts, before, {place.local.name: place.ready.name})
        except UnavailableError:
            if (
                not place.journal.path.exists()
            ):  # nothing counts yet: a full disk is not filled more
                place.ready.unlink(missing_ok=True)
            raise
        if claims != taken:
            place.claims.write(claims)
        files = {name: one for name, one in seen.files.items() if name not in texts}
        for name, text in texts.items():
            if text is not None:
                files[name] = (_mark(place.folder / name), text)
        self._seen = _Seen(place, place.marks(), plan, files, claims, time.monotonic())


def _loaded(place: _Place, seen: _Seen, marks: tuple[object, ...]) -> _Seen:
    """Read what is new since the plan was seen."""
    plan = seen.plan.copy()
    pending = place.journal.read()
    local = place.ready if pending and place.ready.exists() else place.local
    beside = _text(local)
    if beside is None:
        plan = replace(plan, states={}, events={}, event_lines={}, answers={}, answer_lines={})
    else:
        plan.read_local(beside, local)
    claims = place.claims.read()
    files = _files(place.folder, seen.files)
    texts = {name.removesuffix(".json"): text for name, (_, text) in files.items()}
    if pending:
        _overlay(texts, pending)
    for task_id, text in texts.items():
        state, held = plan.states.get(task_id), claims.get(task_id, NONE)
        is_known = plan.texts.get(task_id) == text and seen.plan.states.get(task_id) == state
        if is_known and Held.of(plan.tasks[task_id]) == held:
            continue
        name = f"{task_id}.json"
        changed_at = _changed_at(files[name][0]) if name in files else ""
        task = read_task(text, place.folder / name, state, changed_at)
        plan.put(replace(task, claims=held.claims, claim=held.claim if task.is_open else None))
        plan.texts[task_id] = text
    for gone in plan.tasks.keys() - texts.keys():
        plan.drop(gone)
    return _Seen(place, marks, plan, files, claims, time.monotonic())


def _overlay(texts: dict[str, str], pending: Pending) -> None:
    """Take what the journal says for what the files it names will hold."""
    for name, text in pending.texts.items():
        task_id = name.removesuffix(".json")
        current = digest(texts[task_id]) if task_id in texts else None
        if current != pending.before.get(name):
            continue  # it stands in the file already, or somebody else changed that since
        if text is None:
            texts.pop(task_id, None)
        else:
            texts[task_id] = text


def _files(folder: Path, known: dict[str, tuple[_Mark, str]]) -> dict[str, tuple[_Mark, str]]:
    """Return the tasks' files with their texts, reading those that look different."""
    found: dict[str, tuple[_Mark, str]] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            if len(entry.name) != _ID_LENGTH + 5 or not entry.name.endswith(".json"):
                continue
            state = entry.stat()
            mark = (state.st_ino, state.st_size, state.st_mtime_ns)
            old = known.get(entry.name)
            if old and old[0] == mark:
                found[entry.name] = old
            else:
                text = _text(Path(entry.path))
                if text is None:
                    raise FileNotFoundError(entry.path)
                found[entry.name] = (mark, text)
    return found


def _text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise corrupt(path, "it is not UTF-8") from error


def _mark(path: Path) -> _Mark:
    try:
        state = path.stat()
    except FileNotFoundError:
        return ()
    return state.st_ino, state.st_size, state.st_mtime_ns


def _beginning(path: Path) -> bytes:
    """Return the head of a file. It holds the generation, which every write raises: inode, size and
    time alone may repeat within one tick of the clock."""
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except FileNotFoundError:
        return b""


def _changed_at(mark: _Mark) -> str:
    return micros(datetime.fromtimestamp(mark[2] / 1e9, UTC))


def without_tasks(folder: Path) -> UnavailableError:
    """Say that the folder of a plan's tasks is missing: that is damage, and no empty plan."""
    return UnavailableError(
        f"{folder} is missing, the folder of the plan's tasks.",
        reason="corrupt_store",
        suggestions=[
            "Put it back, from git or a backup.",
            f"Or make it, where the plan had no tasks: mkdir {folder}",
        ],
    )


def without_locks(path: Path) -> UnavailableError:
    return UnavailableError(
        f"{path} cannot be used: its file system has no locks, without which two would write at "
        "once.",
        reason="store_unusable",
        suggestions=["Keep the plan on a local disk."],
    )


def _busy(path: Path) -> BusyError:
    return BusyError(
        f"Another process has been writing to {path.name} for {_WAIT_SECONDS} seconds.",
        reason="store_busy",
        suggestions=["Try again."],
    )
