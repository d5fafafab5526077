"""A person's `~/.tasky`: which project a folder has, and how one is made and moved.

A project's folder may come from a stranger's repository: it names no URL, and its store lies
inside the project.
"""

import contextlib
import hashlib
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import ConflictError, InvalidError
from .conditions import read_conditions
from .location import Location, postgresql_url, unknown_store
from .project import FOLDER, Project, no_project
from .project_settings import (
    default_priority,
    default_status,
    is_on,
    layered,
    local_zone,
    read_toml,
    time_zone,
    variables,
)
from .registry import Registry
from .replaced import write_toml
from .worktrees import Worktree, in_repository, is_tracked, linked_worktree

_FILES = {"sqlite": "tasks.db", "json": "tasks.json"}
# A JSON plan may be kept under version control; a database and locks may not.
_NOT_FOR_GIT = "*.db*\n*.lock\n*.tmp\n*.bak\n"


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

    @property
    def registry(self) -> Registry:
        """The person's projects."""
        return Registry(self.folder / "registry.json")

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
        files = [self.folder / "config.toml", self.registry.file]
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
        storage, url = _storage_table(store)
        project_id = str(uuid.uuid4())
        tables: dict[str, Any] = {
            "project": {
                "id": project_id,
                "name": name,
                "description": description,
                "timezone": zone or local_zone(self.environment),
            },
            "storage": storage,
        }
        time_zone(tables["project"]["timezone"])
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
        self.registry.register(folder, project_id, name, url)
        write_toml(folder / FOLDER / "config.toml", tables)
        ignored = folder / FOLDER / ".gitignore"
        if not ignored.exists():
            ignored.write_text(_NOT_FOR_GIT, "utf-8")
        return self._read(folder)

    def _awaits_url(self, folder: Path) -> bool:
        storage = read_toml(folder / FOLDER / "config.toml").get("storage", {})
        return str(storage.get("backend", "")).startswith("postgres")

    def _bring_url(self, folder: Path, url: str) -> None:
        """Remember where this user reaches a plan that a checkout says is in a database."""
        about = read_toml(folder / FOLDER / "config.toml").get("project", {})
        name = str(about.get("name") or folder.name)
        self.registry.register(folder, str(about.get("id", "")), name, url)

    def move(self, project: Project, store: str) -> Project:
        """Point the project to another store; what is in it is the caller's to copy."""
        path = project.folder / FOLDER / "config.toml"
        tables = read_toml(path)
        tables["storage"], url = _storage_table(store)
        about = tables.setdefault("project", {})
        about["id"] = project.id or str(uuid.uuid4())
        about.setdefault("name", project.name)
        self.registry.register(project.folder, about["id"], project.name, url)
        write_toml(path, tables)
        return self._read(project.folder)

    def target(self, project: Project, store: str) -> Location:
        """Return where the project would be kept in another store."""
        if "://" in store:
            return Location("postgresql", url=postgresql_url(store), schema=_schema(project.id))
        if store not in _FILES:
            raise unknown_store(store)
        return _file(store, project.folder / FOLDER / _FILES[store], project.folder, project.id)

    def forget(self, project: Project) -> None:
        """Take back what `init` made for a project whose store could not be opened."""
        self.registry.forget(project.folder)
        for name in ("config.toml", ".gitignore"):
            (project.folder / FOLDER / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # not empty: what else is in it is not ours
            (project.folder / FOLDER).rmdir()

    def _is_project(self, folder: Path) -> bool:
        home = folder / FOLDER
        if not home.is_dir():
            return False
        if home.resolve() != self.folder.resolve():
            return True
        # The user's own settings folder is a project only where a plan was made in it.
        return any((home / name).exists() for name in _FILES.values())

    def _read(self, folder: Path) -> Project:
        own = read_toml(folder / FOLDER / "config.toml")
        persons = read_toml(self.folder / "config.toml")
        tables = layered(persons, own, variables(self.environment))
        about, defaults = tables["project"], tables["task_defaults"]
        project_id = str(own.get("project", {}).get("id", ""))
        return Project(
            folder=folder,
            id=project_id,
            name=str(own.get("project", {}).get("name") or folder.resolve().name),
            description=str(own.get("project", {}).get("description", "")),
            zone=time_zone(str(about.get("timezone") or local_zone(self.environment))),
            priority=default_priority(defaults.get("priority", 3)),
            status=default_status(defaults.get("status", "pending")),
            location=self._location(folder, project_id, tables["storage"]),
            here=folder,
            closes_parents=is_on(tables["planning"], "close_parents"),
            refuses_blocked=is_on(tables["planning"], "refuse_blocked"),
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
            return Location(
                backend, url=self.registry.url(folder, project_id), schema=_schema(project_id)
            )
        if backend not in _FILES:
            raise unknown_store(backend)
        path = folder / FOLDER / str(storage.get("path") or _FILES[backend])
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InvalidError(
                f"storage.path {str(storage['path'])!r} of {folder} leaves the project.",
                reason="store_outside_project",
                suggestions=["Name a path inside the project, relative to .tasky."],
            )
        return _file(backend, path, folder, project_id)


def _file(kind: str, path: Path, folder: Path, project_id: str) -> Location:
    """Return a file's location; a repository's worktrees share the claims of a JSON plan."""
    place = in_repository(folder) if kind == "json" else None
    if place is None:
        return Location(kind, path)
    common, below = place
    name = project_id or hashlib.sha256(str(below).encode()).hexdigest()[:16]
    return Location(kind, path, shared=common / "tasky" / f"claims-{name}.json")


def _storage_table(store: str) -> tuple[dict[str, str], str | None]:
    """Return the table [storage] of a kind of store or a URL, and the URL, which is not in it."""
    if "://" in store:
        return {"backend": "postgresql"}, store
    if store not in _FILES:
        raise unknown_store(store)
    return {"backend": store, "path": _FILES[store]}, None


def _same_store(known: Project, store: str) -> bool:
    if "://" in store:
        return known.location.url == store
    return known.location.kind == store


def _found_backend(folder: Path) -> str:
    """Without a setting: what is there, and JSON, the existing Tasky's default, before SQLite."""
    return "json" if (folder / _FILES["json"]).exists() else "sqlite"


def _schema(project_id: str) -> str:
    return f"tasky_{project_id.replace('-', '')}" if project_id else "tasky"
