"""A person's projects: the `.tasky` folder of each, the user's own settings, and the registry.

Settings are layered: `~/.tasky/config.toml`, then the project's `.tasky/config.toml`, then
variables `TASKY_<SECTION>__<KEY>`. A project's folder may come from a stranger's repository: it
names no URL, and its store lies inside the project.
"""

import contextlib
import hashlib
import json
import os
import tomllib
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import tomli_w
from filelock import FileLock

from ..errors import ConflictError, InvalidError, UnavailableError
from ..model import Status
from ..model.dates import micros
from .conditions import Condition, read_conditions
from .location import Location
from .worktrees import Worktree, in_repository, is_tracked, linked_worktree

FOLDER = ".tasky"
_FILES = {"sqlite": "tasks.db", "json": "tasks.json"}
# A JSON plan may be kept under version control; a database and locks may not.
_NOT_FOR_GIT = "*.db*\n*.lock\n*.tmp\n*.bak\n"
_SECTIONS = ("logging", "task_defaults", "storage", "project", "planning")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project as its files describe it."""

    folder: Path
    id: str
    name: str
    description: str
    zone: tzinfo
    priority: int
    status: Status
    location: Location
    here: Path | None = None
    """The folder that was asked for: in a worktree another one than where the plan is."""
    closes_parents: bool = False
    refuses_blocked: bool = False
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    logging: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_made(self) -> bool:
        """Whether the store is there; a database tells when it is asked."""
        return self.location.path is None or self.location.path.exists()


@dataclass(frozen=True, slots=True)
class Home:
    """The user's own `~/.tasky` and environment."""

    folder: Path
    environment: Mapping[str, str]

    @classmethod
    def of_user(cls, environment: Mapping[str, str] | None = None) -> "Home":
        env = os.environ if environment is None else environment
        base = env.get("HOME") or env.get("USERPROFILE")
        return cls((Path(base) if base else Path.home()) / FOLDER, env)

    # Projects

    def project(self, start: Path) -> Project:
        """Return the project of a folder or of the nearest one above it."""
        worktree = linked_worktree(start)
        for folder in (start, *start.parents):
            if worktree and worktree.holds(folder):
                found = self._of_worktree(worktree, folder)
                if found:
                    return replace(found, here=folder)
            elif self._is_project(folder):
                return self._read(folder)
        raise no_project(start)

    def project_at(self, folder: Path) -> Project:
        """Return the project of this very folder."""
        worktree = linked_worktree(folder)
        found = self._of_worktree(worktree, folder) if worktree else None
        if found:
            return found
        if not self._is_project(folder):
            raise no_project(folder)
        return self._read(folder)

    def plan_folder(self, folder: Path) -> Path:
        """Return the folder in which the plan of a folder is, or would be made: worktrees share
        the main worktree's, unless git keeps their own."""
        worktree = linked_worktree(folder)
        if worktree is None or (self._is_project(folder) and self._is_own(folder)):
            return folder
        return worktree.shared(folder)

    def watched(self, start: Path) -> list[Path]:
        """Return the files that say which project a folder has: it may be another when one of
        them changes."""
        folders = [start, *start.parents]
        files = [self.folder / "config.toml", self.folder / "registry.json"]
        worktree = linked_worktree(start)
        if worktree:
            folders += [worktree.shared(one) for one in folders if worktree.holds(one)]
            files.append(worktree.own / "index")  # what git tracks
        return [*files, *(folder / FOLDER / "config.toml" for folder in folders)]

    def _of_worktree(self, worktree: Worktree, folder: Path) -> Project | None:
        """Return the project of a folder in a linked worktree: its own where git keeps the plan,
        else the one that all worktrees share."""
        shared = worktree.shared(folder)
        is_project = self._is_project(folder)
        if is_project and self._is_own(folder):
            return self._read(folder)
        if self._is_project(shared):
            return self._read(shared)
        if not is_project:
            return None
        own = self._read(folder)
        if own.is_made or own.location.path is None:
            return own  # made before worktrees shared a plan
        path = shared / own.location.path.relative_to(folder)
        return replace(own, location=replace(own.location, path=path))

    def _is_own(self, folder: Path) -> bool:
        """Whether the plan of a folder belongs to its branch: git keeps it, in files that merge."""
        location = self._read(folder).location
        if location.kind != "json" or location.path is None:
            return False
        return is_tracked(folder / FOLDER, location.path.name)

    def init(
        self,
        folder: Path,
        *,
        store: str = "sqlite",
        name: str | None = None,
        description: str = "",
        zone: str | None = None,
    ) -> Project:
        """Make a project's folder and settings; a URL goes to the registry, not to the folder."""
        name = name or folder.resolve().name
        folder = self.plan_folder(folder)
        if self._is_project(folder):
            if "://" in store and self._awaits_url(folder):
                self._bring_url(folder, store)
            known = self._read(folder)
            if _same_store(known, store):
                return known
            raise ConflictError(
                f"{folder} is a Tasky project already, kept in {known.location.shown}.",
                reason="project_exists",
                suggestions=["Move it to another store with: tasky migrate"],
            )
        is_url = "://" in store
        if not is_url and store not in _FILES:
            raise _unknown_store(store)
        project_id = str(uuid.uuid4())
        tables: dict[str, Any] = {
            "project": {
                "id": project_id,
                "name": name,
                "description": description,
                "timezone": zone or _local_zone(self.environment),
            },
            "storage": {"backend": "postgresql"}
            if is_url
            else {"backend": store, "path": _FILES[store]},
        }
        _zone(tables["project"]["timezone"])
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
        self.register(folder, project_id, str(tables["project"]["name"]), store if is_url else None)
        _write_toml(folder / FOLDER / "config.toml", tables)
        ignored = folder / FOLDER / ".gitignore"
        if not ignored.exists():
            ignored.write_text(_NOT_FOR_GIT, "utf-8")
        return self._read(folder)

    def _awaits_url(self, folder: Path) -> bool:
        storage = _toml(folder / FOLDER / "config.toml").get("storage", {})
        return str(storage.get("backend", "")).startswith("postgres")

    def _bring_url(self, folder: Path, url: str) -> None:
        """Remember where this user reaches a plan that a checkout says is in a database."""
        about = _toml(folder / FOLDER / "config.toml").get("project", {})
        name = str(about.get("name") or folder.name)
        self.register(folder, str(about.get("id", "")), name, url)

    def move(self, project: Project, store: str) -> Project:
        """Point the project to another store; what is in it is the caller's to copy."""
        path = project.folder / FOLDER / "config.toml"
        tables = _toml(path)
        is_url = "://" in store
        if not is_url and store not in _FILES:
            raise _unknown_store(store)
        tables["storage"] = (
            {"backend": "postgresql"} if is_url else {"backend": store, "path": _FILES[store]}
        )
        about = tables.setdefault("project", {})
        about["id"] = project.id or str(uuid.uuid4())
        about.setdefault("name", project.name)
        self.register(project.folder, about["id"], project.name, store if is_url else None)
        _write_toml(path, tables)
        return self._read(project.folder)

    def target(self, project: Project, store: str) -> Location:
        """Return where the project would be kept in another store."""
        if "://" in store:
            return Location("postgresql", url=_postgresql(store), schema=_schema(project.id))
        if store not in _FILES:
            raise _unknown_store(store)
        return _file(store, project.folder / FOLDER / _FILES[store], project.folder, project.id)

    def _is_project(self, folder: Path) -> bool:
        home = folder / FOLDER
        if not home.is_dir():
            return False
        if home.resolve() != self.folder.resolve():
            return True
        # The user's own settings folder is a project only where a plan was made in it.
        return any((home / name).exists() for name in _FILES.values())

    def _read(self, folder: Path) -> Project:
        own = _toml(folder / FOLDER / "config.toml")
        persons = _toml(self.folder / "config.toml")
        tables = _layered(persons, own, _variables(self.environment))
        about, defaults = tables["project"], tables["task_defaults"]
        project_id = str(own.get("project", {}).get("id", ""))
        return Project(
            folder=folder,
            id=project_id,
            name=str(own.get("project", {}).get("name") or folder.resolve().name),
            description=str(own.get("project", {}).get("description", "")),
            zone=_zone(str(about.get("timezone") or _local_zone(self.environment))),
            priority=_priority(defaults.get("priority", 3)),
            status=_status(defaults.get("status", "pending")),
            location=self._location(folder, project_id, tables["storage"]),
            here=folder,
            closes_parents=_switch(tables["planning"], "close_parents"),
            refuses_blocked=_switch(tables["planning"], "refuse_blocked"),
            # Only the person's own: what a project's files say is run by nobody.
            conditions=read_conditions(
                persons.get("done_conditions", {}), self.folder / "config.toml"
            ),
            logging=tables["logging"],
        )

    def _location(self, folder: Path, project_id: str, storage: Mapping[str, Any]) -> Location:
        backend = str(storage.get("backend") or _found_backend(folder / FOLDER))
        backend = "postgresql" if backend.startswith("postgres") else backend
        if backend == "postgresql":
            return Location(backend, url=self._url(folder, project_id), schema=_schema(project_id))
        if backend not in _FILES:
            raise _unknown_store(backend)
        path = folder / FOLDER / str(storage.get("path") or _FILES[backend])
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InvalidError(
                f"storage.path {str(storage['path'])!r} of {folder} leaves the project.",
                reason="store_outside_project",
                suggestions=["Name a path inside the project, relative to .tasky."],
            )
        return _file(backend, path, folder, project_id)

    # The registry

    def projects(self) -> list[dict[str, Any]]:
        """Return the registry's entries: `name` and `path`, and what else is known of each."""
        return [entry for entry in self._registry().get("projects", []) if "path" in entry]

    def register(self, folder: Path, project_id: str, name: str, url: str | None) -> None:
        """Remember a project; what other programs wrote into the registry stays as it is."""
        if url is not None:
            _postgresql(url)
        with self._registry_alone():
            registry = self._registry()
            path = str(folder.resolve())
            entries = [one for one in registry.get("projects", []) if one.get("path") != path]
            same = (one for one in registry.get("projects", []) if one.get("path") == path)
            known: dict[str, Any] = next(same, {})
            entry = {**known, "id": project_id, "name": name, "path": path}
            entry.setdefault("created_at", micros(datetime.now(UTC)))
            entry.pop("url", None)
            if url is not None:
                entry["url"] = url
            registry["projects"] = [*entries, entry]
            _write_private(self.folder / "registry.json", json.dumps(registry, indent=2) + "\n")

    def forget(self, project: Project) -> None:
        """Take back what `init` made for a project whose store could not be opened."""
        path = str(project.folder.resolve())
        with self._registry_alone():
            registry = self._registry()
            entries = registry.get("projects", [])
            registry["projects"] = [entry for entry in entries if entry.get("path") != path]
            _write_private(self.folder / "registry.json", json.dumps(registry, indent=2) + "\n")
        for name in ("config.toml", ".gitignore"):
            (project.folder / FOLDER / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # not empty: what else is in it is not ours
            (project.folder / FOLDER).rmdir()

    def _url(self, folder: Path, project_id: str) -> str:
        path = str(folder.resolve())
        entries = [entry for entry in self.projects() if entry.get("url")]
        # A second checkout of the same project shares its id; its own entry goes first.
        entries.sort(key=lambda entry: entry["path"] != path)
        for entry in entries:
            if entry["path"] == path or (project_id and entry.get("id") == project_id):
                return str(entry["url"])
        raise UnavailableError(
            f"The plan of {folder} is in a PostgreSQL database whose URL this user has not set.",
            reason="no_url",
            suggestions=["Run: tasky project init --store postgresql://…"],
        )

    def _registry(self) -> dict[str, Any]:
        path = self.folder / "registry.json"
        try:
            data = json.loads(path.read_bytes())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise UnavailableError(
                f"{path} is not valid JSON ({error}); it was left as it is.",
                reason="corrupt_registry",
            ) from error
        if not isinstance(data, dict) or not isinstance(data.get("projects", []), list):
            raise UnavailableError(f"{path} is no registry of Tasky's.", reason="corrupt_registry")
        return data

    @contextlib.contextmanager
    def _registry_alone(self) -> Iterator[None]:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(self.folder / "registry.json.lock", timeout=25):
            yield


def _file(kind: str, path: Path, folder: Path, project_id: str) -> Location:
    """Return a file's location; a repository's worktrees share the claims of a JSON plan."""
    place = in_repository(folder) if kind == "json" else None
    if place is None:
        return Location(kind, path)
    common, below = place
    name = project_id or hashlib.sha256(str(below).encode()).hexdigest()[:16]
    return Location(kind, path, shared=common / "tasky" / f"claims-{name}.json")


def no_project(folder: Path) -> UnavailableError:
    return UnavailableError(
        f"There is no Tasky project in {folder}.",
        reason="no_project",
        suggestions=["Run in the project's folder: tasky project init"],
    )


def _same_store(known: Project, store: str) -> bool:
    if "://" in store:
        return known.location.url == store
    return known.location.kind == store


def _found_backend(folder: Path) -> str:
    """Without a setting: what is there, and JSON, the existing Tasky's default, before SQLite."""
    return "json" if (folder / _FILES["json"]).exists() else "sqlite"


def _schema(project_id: str) -> str:
    return f"tasky_{project_id.replace('-', '')}" if project_id else "tasky"


def _postgresql(url: str) -> str:
    if not url.startswith(("postgres://", "postgresql://")):
        raise InvalidError(
            f"{url.partition('://')[0]}:// is no store that Tasky can use.",
            reason="unknown_store",
            suggestions=["Use sqlite, json, or a URL that begins with postgresql://."],
        )
    return url


def _unknown_store(said: str) -> InvalidError:
    return InvalidError(
        f"{said!r} is not a store.",
        reason="unknown_store",
        suggestions=["Use sqlite, json, or a URL that begins with postgresql://."],
    )


def _layered(*layers: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Lay tables over each other, key by key within the sections that Tasky knows."""
    merged: dict[str, dict[str, Any]] = {section: {} for section in _SECTIONS}
    for layer in layers:
        for section in _SECTIONS:
            found = layer.get(section, {})
            if not isinstance(found, Mapping):
                raise InvalidError(
                    f"[{section}] in config.toml is not a table.", reason="bad_settings"
                )
            merged[section].update(found)
    return merged


def _variables(environment: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    tables: dict[str, dict[str, Any]] = {}
    for section in ("logging", "task_defaults", "storage", "planning"):
        prefix = f"TASKY_{section.upper()}__"
        own = [name for name in environment if name.startswith(prefix)]
        found = {name[len(prefix) :].lower(): environment[name] for name in own}
        tables[section] = found
    return tables


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidError(f"{path} cannot be read: {error}.", reason="bad_settings") from error


def _priority(value: object) -> int:
    try:
        number = int(str(value))
    except ValueError:
        number = 0
    if not 1 <= number <= 5:
        raise InvalidError(
            f"task_defaults.priority is {value!r}.",
            reason="bad_settings",
            suggestions=["Use 1 to 5; 5 is the highest."],
        )
    return number


def _status(value: object) -> Status:
    try:
        return Status(str(value))
    except ValueError:
        raise InvalidError(
            f"task_defaults.status is {value!r}.",
            reason="bad_settings",
            suggestions=[f"Use one of: {', '.join(Status)}."],
        ) from None


def _switch(table: Mapping[str, Any], name: str) -> bool:
    value = table.get(name, False)
    if isinstance(value, str):
        value = {"true": True, "1": True, "false": False, "0": False}.get(value.lower(), value)
    if not isinstance(value, bool):
        raise InvalidError(
            f"planning.{name} is {value!r}.",
            reason="bad_settings",
            suggestions=["Use true or false."],
        )
    return value


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidError(
            f"{name!r} is not a time zone.",
            reason="bad_settings",
            suggestions=["Use an IANA name, as Europe/Berlin or UTC."],
        ) from None


def _local_zone(environment: Mapping[str, str]) -> str:
    """Return this machine's zone by its IANA name, or UTC where it has none."""
    said = environment.get("TZ", "").lstrip(":")
    parts = Path("/etc/localtime").resolve().parts
    linked = "/".join(parts[parts.index("zoneinfo") + 1 :]) if "zoneinfo" in parts else ""
    for name in (said, linked):
        with contextlib.suppress(ZoneInfoNotFoundError, ValueError, OSError):
            if name and not Path(name).is_absolute():
                key = ZoneInfo(name).key
                return "UTC" if key == "Etc/UTC" else key
    return "UTC"


def _write_toml(path: Path, tables: Mapping[str, Any]) -> None:
    _replace(path, tomli_w.dumps(tables), 0o644)


def _write_private(path: Path, text: str) -> None:
    _replace(path, text, 0o600)


def _replace(path: Path, text: str, mode: int) -> None:
    temporary = path.with_name(path.name + ".tmp")
    # Opened with its mode, not changed to it later: there is no moment when others may read it.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            temporary.chmod(mode)  # one that was left behind may have had another
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)  # on a full disk it would take the room of others
        raise
