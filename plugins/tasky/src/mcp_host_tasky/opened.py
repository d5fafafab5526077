"""The plan that the pack serves: found when it is needed, opened once, shared by all calls."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from .errors import TaskyError, Unavailable
from .service import Plan, Tasks
from .settings import TaskySettings
from .storage import Home, Location, Project, no_project, open_store


@dataclass(frozen=True, slots=True)
class Told:
    """Whom to tell about the plan's health and changes; plain calls, safe from any thread."""

    degraded: Callable[[TaskyError], None]
    recovered: Callable[[], None]
    written: Callable[[], None]


class Opened:
    """The service of the pack. A plan's service is made once and kept for as long as its settings
    stay the same; where there is no project yet, each call looks again."""

    def __init__(
        self,
        settings: TaskySettings,
        home: Home,
        told: Told,
        public_name: Callable[[str], str],
    ) -> None:
        self.public_name = public_name
        self._settings = settings
        self._home = home
        self._told = told
        self._lock = threading.Lock()
        self._cached: dict[Location, Tasks] = {}
        self._current: tuple[tuple[float, ...], Tasks] | None = None
        self._is_well = True

    def tasks(self) -> Tasks:
        """Return the plan's service; `Unavailable` says how to make a project."""
        with self._lock:
            signature = self._signature()
            if self._current and self._current[0] == signature:
                return self._current[1]
            try:
                tasks = self._open()
            except TaskyError as error:
                self._is_well = False
                self._told.degraded(error)
                raise
            self._current = (signature, tasks)
            if not self._is_well:
                self._is_well = True
                self._told.recovered()
            return tasks

    def close(self) -> None:
        with self._lock:
            for tasks in self._cached.values():
                tasks.close()
            self._cached.clear()
            self._current = None

    def _open(self) -> Tasks:
        project = self._project()
        plan, location = self._described(project)
        if project and not project.is_made and location.path:
            raise Unavailable(
                f"The plan of {project.folder} has no store yet ({location.path.name} is missing).",
                reason="no_store",
                suggestions=["Run in the project's folder: tasky project init"],
            )
        if location not in self._cached:
            store = open_store(location)
            self._cached[location] = Tasks(store, plan, changed=self._told.written)
        tasks = self._cached[location]
        tasks.plan = plan  # its name or time zone may have changed where its place did not
        return tasks

    def _project(self) -> Project | None:
        root = self._settings.root
        try:
            if root is None:
                raise no_project(Path.cwd())
            return self._home.project(root)
        except Unavailable:
            if self._settings.url:
                return None
            raise

    def _described(self, project: Project | None) -> tuple[Plan, Location]:
        """Return the plan and its place; a URL in the settings goes before the project's store."""
        lease = self._settings.lease_seconds
        if project:
            plan = Plan(
                name=project.name,
                description=project.description,
                zone=project.zone,
                priority=project.priority,
                status=project.status,
                lease_seconds=lease,
            )
            location = project.location
        else:
            plan = Plan(name=self._settings.db_schema or "tasky", lease_seconds=lease)
            location = Location("postgresql", schema="tasky")
        if self._settings.url:
            own = location.schema if location.kind == "postgresql" else ""
            schema = self._settings.db_schema or own or "tasky"
            if project and project.id and not self._settings.db_schema:
                schema = f"tasky_{project.id.replace('-', '')}"
            url = self._settings.url.get_secret_value()
            location = Location("postgresql", url=url, schema=schema)
        return plan, replace(location)

    def _signature(self) -> tuple[float, ...]:
        """Return what changes when somebody makes, moves or reconfigures the project."""
        root = self._settings.root or Path.cwd()
        files = [folder / ".tasky" / "config.toml" for folder in (root, *root.parents)]
        files += [self._home.folder / "config.toml", self._home.folder / "registry.json"]
        return tuple(_changed_at(file) for file in files)


def _changed_at(file: Path) -> float:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0
