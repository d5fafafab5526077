"""A person's `~/.tasky`: which project a folder has, and how one is made and moved.

A project's folder may come from a stranger's repository: it names no URL, and its store lies
inside the project.
"""

import contextlib
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import ConflictError, InvalidError, TaskyError
from .location import Location, postgresql_url, unknown_store
from .project import FOLDER, Project, no_project
from .project_reading import STORE_FILES, file_location, read_project, schema_of
from .project_settings import (
    local_zone,
    read_toml,
    time_zone,
)
from .registry import Registry
from .replaced import write_toml
from .worktrees import Worktree, is_tracked, linked_worktree

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
                return self._project_of(folder)
        raise no_project(start)

    def project_at(self, folder: Path) -> Project:
        """Return the project of this very folder."""
        worktree = linked_worktree(folder)
        found = self._of_worktree(worktree, folder) if worktree else None
        if found:
            return found
        if not self._is_project(folder):
            raise no_project(folder)
        return self._project_of(folder)

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
            return self._project_of(folder)
        if self._is_project(shared):
            return self._project_of(shared)
        if not is_project:
            return None
        own = self._project_of(folder)
        if own.is_made or own.location.path is None:
            return own  # made before worktrees shared a plan
        path = shared / own.location.path.relative_to(folder)
        return replace(own, location=replace(own.location, path=path))

    def _is_own(self, folder: Path) -> bool:
        """Whether the plan of a folder belongs to its branch: git keeps it, in files that merge."""
        location = self._project_of(folder).location
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
        said = {"name": name, "description": description, "timezone": zone}
        for field, text in said.items():
            _refuse_no_text(field, text)
        storage, url = _storage_table(store)
        usual = folder.resolve().name.encode(errors="replace").decode()  # it may hold no letters
        folder = self.plan_folder(folder)
        if self._is_project(folder):
            if url and self._awaits_url(folder):
                self._bring_url(folder, store)
            known = self._project_of(folder)
            if _same_store(known, store):
                _refuse_other(known, said)
                return known
            raise ConflictError(
                f"{folder} is a Tasky project already, kept in {known.location.shown}.",
                reason="project_exists",
                suggestions=["Move it to another store with: tasky migrate"],
            )
        project_id = str(uuid.uuid4())
        tables: dict[str, Any] = {
            "project": {
                "id": project_id,
                "name": name or usual,
                "description": description,
                "timezone": zone or local_zone(self.environment),
            },
            "storage": storage,
        }
        time_zone(tables["project"]["timezone"])
        is_new = not (folder / FOLDER).exists()
        made = [one for one in (folder, *folder.parents) if not one.exists()]
        try:
            (folder / FOLDER).mkdir(parents=True, exist_ok=True)
            self.registry.register(folder, project_id, name or usual, url)
            write_toml(folder / FOLDER / "config.toml", tables)
            ignored = folder / FOLDER / ".gitignore"
            if not ignored.exists():
                ignored.write_text(_NOT_FOR_GIT, "utf-8")
            return self._project_of(folder)
        except (OSError, TaskyError):
            if is_new:
                with contextlib.suppress(OSError, TaskyError):
                    self._take_back(folder)
                with contextlib.suppress(OSError):
                    for one in made:
                        one.rmdir()
            raise

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
        return self._project_of(project.folder)

    def target(self, project: Project, store: str) -> Location:
        """Return where the project would be kept in another store."""
        if "://" in store:
            return Location("postgresql", url=postgresql_url(store), schema=schema_of(project.id))
        if store not in STORE_FILES:
            raise unknown_store(store)
        return file_location(
            store, project.folder / FOLDER / STORE_FILES[store], project.folder, project.id
        )

    def forget(self, project: Project) -> None:
        """Take back what `init` made for a project whose store could not be opened."""
        self._take_back(project.folder)

    def _take_back(self, folder: Path) -> None:
        for name in ("config.toml", ".gitignore"):
            (folder / FOLDER / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # not empty: what else is in it is not ours
            (folder / FOLDER).rmdir()
        self.registry.forget(folder)

    def _project_of(self, folder: Path) -> Project:
        return read_project(folder, self.folder, self.environment, self.registry)

    def _is_project(self, folder: Path) -> bool:
        home = folder / FOLDER
        if not home.is_dir():
            return False
        if home.resolve() != self.folder.resolve():
            return True
        # The user's own settings folder is a project only where a plan was made in it.
        return any((home / name).exists() for name in STORE_FILES.values())


def _storage_table(store: str) -> tuple[dict[str, str], str | None]:
    """Return the table [storage] of a kind of store or a URL, and the URL, which is not in it."""
    if "://" in store:
        return {"backend": "postgresql"}, store
    if store not in STORE_FILES:
        raise unknown_store(store)
    return {"backend": store, "path": STORE_FILES[store]}, None


def _refuse_no_text(field: str, text: str | None) -> None:
    if any("\ud800" <= letter <= "\udfff" for letter in text or ""):
        raise InvalidError(f"The {field} must be text in UTF-8.", reason=f"invalid_{field}")


def _refuse_other(known: Project, said: Mapping[str, str | None]) -> None:
    """Raise where a project that is there would have to be told something else of itself."""
    is_so = {"name": known.name, "description": known.description, "timezone": str(known.zone)}
    other = [field for field, text in said.items() if text and text != is_so[field]]
    if other:
        raise ConflictError(
            f"{known.folder} is a Tasky project already, with another {' and '.join(other)}.",
            reason="project_exists",
            suggestions=[f"Change it in {known.folder / FOLDER / 'config.toml'}, in [project]."],
        )


def _same_store(known: Project, store: str) -> bool:
    if "://" in store:
        return known.location.url == store
    return known.location.kind == store
