"""The plan that the pack serves: found when it is needed, opened once, shared by all calls."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ..errors import MovedError, TaskyError, UnavailableError
from ..storage import Guard, Home, Location, Project, Signs, no_guard, no_project, open_store
from . import budget, values
from .page import Page
from .plan import Plan
from .requests import Caller, Search
from .running import RunningEdits
from .tasks import Tasks
from .views import View
from .write import Write


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSettings:
    """Which plan to serve: the project at `root` or above it, or a PostgreSQL `url` with its
    `schema`, which goes before the project's own store."""

    root: Path | None = None
    url: str | None = None
    schema: str | None = None
    lease_seconds: int = 900


@dataclass(frozen=True, slots=True)
class Listener:
    """Whom to tell about the plan's health and changes; plain calls, safe from any thread."""

    degraded: Callable[[TaskyError], None]
    recovered: Callable[[], None]
    written: Callable[[], None]


class Service:
    """What the pack can do. A plan's tasks are opened once and kept for as long as its settings
    stay the same; where there is no project yet, each call looks again.

    `public_name` gives the name under which clients know a tool.
    """

    def __init__(
        self,
        settings: PlanSettings,
        home: Home,
        listener: Listener,
        public_name: Callable[[str], str],
    ) -> None:
        self.public_name = public_name
        self._settings = settings
        self._home = home
        self._listener = listener
        self._lock = threading.Lock()
        self._cached: dict[Location, Tasks] = {}
        self._current: tuple[Signs, Tasks] | None = None
        self._is_well = True
        self._edits = RunningEdits()

    def tasks(self) -> Tasks:
        """Return the plan's tasks; `UnavailableError` says how to make a project."""
        with self._lock:
            if self._current and self._current[0].are_same():
                return self._current[1]
            signs = Signs.of(self._home, self._settings.root or Path.cwd())
            try:
                tasks = self._open()
            except TaskyError as error:
                self._is_well = False
                self._listener.degraded(error)
                raise
            self._current = (signs, tasks)
            if not self._is_well:
                self._is_well = True
                self._listener.recovered()
            return tasks

    def caller(self, *, subject: str | None, client: str | None, connection: str | None) -> Caller:
        """Return who calls, by what the host knows: a caller without subject and connection is
        proven by nothing."""
        name = client or "client"
        if connection is None:
            return Caller(name, subject, is_proven=subject is not None)
        return Caller(f"{name}-{connection[:8]}", subject, connection)

    def search(
        self,
        caller: Caller,
        guard: Guard = no_guard,
        *,
        status: str | None = None,
        search: str | None = None,
        created_after: str | None = None,
        due_before: str | None = None,
        priority: int | None = None,
        tags: Sequence[str] = (),
        ready: bool = False,
        claimed_by: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page:
        """Return a page of the plan's tasks within the budget of an answer, or with the cursor of
        a write's answer the rows of that which did not fit."""
        asked = Search(
            status=status,
            search=search,
            created_after=created_after,
            due_before=due_before,
            priority=priority,
            tags=tags,
            ready=ready,
            claimed_by=claimed_by,
            sort=sort,
            limit=limit,
            cursor=cursor,
        )
        return self.tasks().search(asked, caller, guard, brief=True)

    def create(
        self,
        items: Sequence[object],
        caller: Caller,
        guard: Guard = no_guard,
        *,
        key: str | None = None,
        dry_run: bool = False,
        view: str | None = None,
    ) -> Page:
        """Create tasks, all or none, and answer within the budget."""
        write = Write("create_tasks", "task", list(items), key, dry_run, values.shape(view))
        return self._written(lambda tasks: tasks.create_in_brief(write, caller, guard))

    def edit(
        self,
        items: Sequence[object],
        caller: Caller,
        guard: Guard = no_guard,
        *,
        key: str | None = None,
        dry_run: bool = False,
        view: str | None = None,
    ) -> Page:
        """Apply operations, all or none, and answer within the budget."""
        write = Write("edit_tasks", "operation", list(items), key, dry_run, values.shape(view))
        with self._edits.one(guard) as either:
            return self._written(lambda tasks: tasks.edit_in_brief(write, caller, either))

    def at_stake(self, items: Sequence[object], guard: Guard = no_guard) -> list[str]:
        """Say what hangs on the tasks that operations would delete; nothing is written.

        Operations that cannot be are no matter here: `edit` says what is wrong with them.
        """
        given = [item for item in items if isinstance(item, Mapping)]
        doomed = [item for item in given if item.get("action") == "delete"]
        ids = [str(item.get("task_id") or item.get("id")) for item in doomed]
        if not ids:
            return []
        try:
            views = self.tasks().get(ids, 0, ["name", "blocks", "subtasks"], guard)
        except TaskyError:
            return []
        told = [(view.get("name"), hanging(view)) for view in views]
        return [f"'{name}': {what}." for name, what in told if what]

    def get(
        self,
        task_ids: Sequence[str],
        guard: Guard = no_guard,
        *,
        depth: int = 0,
        fields: Sequence[str] | None = None,
        view: str | None = None,
    ) -> list[View]:
        """Return tasks in full; where several exceed the budget, their details are cut."""
        is_whole = values.shape(view) == "full"
        views = self.tasks().get(task_ids, depth, fields, guard, is_whole=is_whole)
        return views if is_whole else budget.fitted(views)

    def close(self) -> None:
        """Stop the edits that still run, and close all plans that were opened."""
        self._edits.end()
        with self._lock:
            for tasks in self._cached.values():
                tasks.close()
            self._cached.clear()
            self._current = None

    def _written(self, write: Callable[[Tasks], Page]) -> Page:
        """Write where the plan is kept when the write's turn comes: it may be moved until then."""
        while True:
            try:
                return write(self.tasks())
            except MovedError:
                continue

    def _open(self) -> Tasks:
        project = self._project()
        plan, location = self._described(project)
        if project and not project.is_made and location.path:
            raise UnavailableError(
                f"The plan of {project.folder} has no store yet ({location.path.name} is missing).",
                reason="no_store",
                suggestions=["Run in the project's folder: tasky project init"],
            )
        if location not in self._cached:
            store = open_store(location)
            self._cached[location] = Tasks(
                store, plan, changed=self._listener.written, stays=partial(self._stays, location)
            )
        tasks = self._cached[location]
        tasks.plan = plan  # its name or time zone may have changed where its place did not
        return tasks

    def _project(self) -> Project | None:
        root = self._settings.root
        try:
            if root is None:
                raise no_project(Path.cwd())
            return self._home.project(root)
        except UnavailableError:
            if self._settings.url:
                return None
            raise

    def _described(self, project: Project | None) -> tuple[Plan, Location]:
        """Return the plan and its place; a URL in the settings goes before the project's store."""
        lease = self._settings.lease_seconds
        if project:
            plan = Plan.of_project(project, lease_seconds=lease)
            location = project.location
        else:
            plan = Plan(name=self._settings.schema or "tasky", lease_seconds=lease)
            location = Location("postgresql", schema="tasky")
        if self._settings.url:
            own = location.schema if location.kind == "postgresql" else ""
            schema = self._settings.schema or own or "tasky"
            if project and project.id and not self._settings.schema:
                schema = f"tasky_{project.id.replace('-', '')}"
            location = Location("postgresql", url=self._settings.url, schema=schema)
        return plan, replace(location)

    def _stays(self, location: Location) -> None:
        """Raise where the plan is kept elsewhere by now."""
        current = self._current
        if current and current[1] is self._cached.get(location) and current[0].are_same():
            return
        if self._described(self._project())[1] != location:
            raise MovedError


def hanging(view: View) -> str:
    """Say how many tasks wait for a task or are parts of it; empty where none does."""
    blocks, parts = view.get("blocks"), view.get("subtasks")
    counts = (
        (_count(blocks), "task waits for this one", "tasks wait for this one"),
        (_count(parts), "task is a part of it", "tasks are parts of it"),
    )
    return ", ".join(f"{n} {one if n == 1 else many}" for n, one, many in counts if n)


def _count(ids: object) -> int:
    return len(ids) if isinstance(ids, list | tuple) else 0
