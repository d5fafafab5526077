"""Reads a project from its folder: which settings count for it, and where its plan is kept.

A project's folder may come from a stranger's repository: it names no URL, and its store lies
inside the project.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InvalidError
from .conditions import read_conditions
from .location import Location, unknown_store
from .project import FOLDER, Project
from .project_settings import (
    default_priority,
    default_status,
    is_on,
    layered,
    local_zone,
    read_toml,
    refuse_unknown_planning,
    time_zone,
    variables,
)
from .registry import Registry
from .worktrees import in_repository

STORE_FILES = {"sqlite": "tasks.db", "json": "tasks.json"}


def read_project(
    folder: Path, persons_folder: Path, environment: Mapping[str, str], registry: Registry
) -> Project:
    """Read what the files of a project, the person's own and the environment say together."""
    own = _own_settings(folder / FOLDER / "config.toml")
    persons = read_toml(persons_folder / "config.toml")
    tables = layered(persons, own, variables(environment))
    about, defaults = tables["project"], tables["task_defaults"]
    refuse_unknown_planning(tables["planning"])
    project_id = str(own.get("project", {}).get("id", ""))
    return Project(
        folder=folder,
        id=project_id,
        name=str(own.get("project", {}).get("name") or folder.resolve().name),
        description=str(own.get("project", {}).get("description", "")),
        zone=time_zone(str(about.get("timezone") or local_zone(environment))),
        priority=default_priority(defaults.get("priority", 3)),
        status=default_status(defaults.get("status", "pending")),
        location=_location(folder, project_id, tables["storage"], registry),
        here=folder,
        closes_parents=is_on(tables["planning"], "close_parents"),
        refuses_blocked=is_on(tables["planning"], "refuse_blocked"),
        # Only the person's own: what a project's files say is run by nobody.
        conditions=read_conditions(
            persons.get("done_conditions", {}), persons_folder / "config.toml"
        ),
        logging=tables["logging"],
    )


def _own_settings(path: Path) -> dict[str, Any]:
    """Return the tables of a project's file; an emptied one does not say where the plan is."""
    tables = read_toml(path)
    if not tables and path.exists() and not path.read_text("utf-8").strip():
        raise InvalidError(
            f"{path} is empty: it must say where the plan is kept.",
            reason="bad_settings",
            suggestions=[
                "Put it back, from git or a backup.",
                f"Or remove it, where the plan is a file in {FOLDER}.",
            ],
        )
    return tables


def _location(
    folder: Path, project_id: str, storage: Mapping[str, Any], registry: Registry
) -> Location:
    backend = str(storage.get("backend") or _found_backend(folder / FOLDER))
    backend = "postgresql" if backend.startswith("postgres") else backend
    if backend == "postgresql":
        return Location(backend, url=registry.url(folder, project_id), schema=schema_of(project_id))
    if backend not in STORE_FILES:
        raise unknown_store(backend)
    path = folder / FOLDER / str(storage.get("path") or STORE_FILES[backend])
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InvalidError(
            f"The plan of {folder} would leave the project: {path} is {path.resolve()}.",
            reason="store_outside_project",
            suggestions=["Name a storage.path inside the project, and make .tasky no link."],
        )
    return file_location(backend, path, folder, project_id)


def file_location(kind: str, path: Path, folder: Path, project_id: str) -> Location:
    """Return a file's location; a repository's worktrees share the claims of a JSON plan."""
    place = in_repository(folder) if kind == "json" else None
    if place is None:
        return Location(kind, path)
    common, below = place
    name = project_id or hashlib.sha256(str(below).encode()).hexdigest()[:16]
    return Location(kind, path, shared=common / "tasky" / f"claims-{name}.json")


def _found_backend(folder: Path) -> str:
    """Without a setting: what is there, and JSON, the existing Tasky's default, before SQLite."""
    return "json" if (folder / STORE_FILES["json"]).exists() else "sqlite"


def schema_of(project_id: str) -> str:
    """Return the schema of a project's tables in a database."""
    return f"tasky_{project_id.replace('-', '')}" if project_id else "tasky"
