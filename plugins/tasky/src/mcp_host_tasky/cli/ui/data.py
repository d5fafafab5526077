"""What the page asks: the board, the graph, the timeline, a task, a search; and, where it may
write, an edit."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mcp_host import PAGE_STYLES, PageRequest, PageResponse

from ...errors import NotFoundError, TaskyError
from ...service import Caller, Search, Tasks

Answer = Callable[[Mapping[str, str]], Any]
COLUMNS: dict[str, dict[str, Any]] = {
    "held": {"claimed_by": "*", "status": "pending"},
    "ready": {"ready": True},
    "waiting": {"waiting": True},
    "completed": {"status": "completed"},
    "cancelled": {"status": "cancelled"},
}
_ROWS = 60
_EVENTS = 60
_TYPES = {"js": "text/javascript", "css": "text/css", "html": "text/html", "svg": "image/svg+xml"}
_STATUS = {"not_found": 404, "conflict": 409, "permission_denied": 403, "validation_error": 422}
# Nobody in particular: what is ready to them is claimed by nobody at all.
_READER = Caller("page", is_proven=False)


class PlanPage:
    """Answers for the plan that `plan` says it is. `who` makes the changes; where the page may not
    write, none."""

    def __init__(
        self, plan: Callable[[], Tasks], who: Caller, *, writes: bool, folder: Path
    ) -> None:
        self._tasks = plan
        self._who = who
        self._writes = writes
        self._files = {
            file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()
        }

    def handlers(self) -> dict[tuple[str, str], Callable[[PageRequest], PageResponse]]:
        """Return what answers each path."""
        asked: dict[str, Answer] = {
            "plan": self._plan,
            "board": self._board,
            "task": self._task,
            "graph": lambda query: self._tasks().graph(query.get("around") or None),
            "events": self._events,
        }
        found: dict[tuple[str, str], Callable[[PageRequest], PageResponse]] = {
            ("GET", f"/api/{name}"): _answering(answer) for name, answer in asked.items()
        }
        found["POST", "/api/edit"] = self._edit
        found["GET", "/"] = lambda _: self._file("index.html")
        found["GET", "/styles.css"] = lambda _: PageResponse(PAGE_STYLES, media_type="text/css")
        for name in self._files:
            found["GET", f"/{name}"] = lambda _, name=name: self._file(name)  # type: ignore[misc]
        return found

    def _file(self, name: str) -> PageResponse:
        return PageResponse(self._files[name], media_type=_TYPES[name.rpartition(".")[2]])

    def _plan(self, query: Mapping[str, str]) -> Any:
        return {**self._tasks().info(), "writes": self._writes, "you": self._who.name}

    def _board(self, query: Mapping[str, str]) -> Any:
        """Return the first rows of every column, or more of the one that is named."""
        named = query.get("column")
        if named in COLUMNS:
            return self._column(named, query)
        return {name: self._column(name, query) for name in COLUMNS}

    def _column(self, name: str, query: Mapping[str, str]) -> Any:
        said = {**COLUMNS[name]}
        if holder := query.get("holder"):
            if name in ("ready", "waiting"):
                return {"rows": [], "total": 0, "cursor": None, "is_more": False}
            if name == "held":
                said["claimed_by"] = holder
        if words := query.get("q", "").strip():
            said["search"] = words
        if tag := query.get("tag", "").strip().lower():
            said["tags"] = (tag,)
        if query.get("priority", "").isdecimal():
            said["priority"] = int(query["priority"])
        asked = Search(**said, limit=_ROWS, cursor=query.get("cursor") or None)
        is_recent = name in ("completed", "cancelled") and not asked.search
        page = (self._tasks().finished if is_recent else self._tasks().search)(asked, _READER)
        rows = page.rows
        if name == "held":
            rows = [self._with_claim(row) for row in rows]
        is_more = page.has_more
        return {"rows": rows, "total": page.total, "cursor": page.next_cursor, "is_more": is_more}

    def _with_claim(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Add since when and until when a task is held."""
        task_id = str(row["task_id"])
        (task,) = self._tasks().get([task_id])
        events = self._tasks().history(task_id, limit=20)
        since = next((event["at"] for event in events if event["action"] == "claim"), None)
        return {**row, "claimed_until": task.get("claimed_until"), "claimed_since": since}

    def _task(self, query: Mapping[str, str]) -> Any:
        try:
            (task,) = self._tasks().get([query.get("id", "")])
        except NotFoundError:
            return self._deleted(query.get("id", ""))
        names = ("blockers", "blocks", "subtasks", "discovered")
        ids = {str(one) for name in names for one in task.get(name) or ()}  # type: ignore[union-attr]
        ids |= {str(task[name]) for name in ("subtask_of", "discovered_from") if task.get(name)}
        known = self._tasks().known(sorted(ids)[:200])
        history = self._tasks().history(str(task["task_id"]), limit=20)
        return {**task, "history": history, "related": known}

    def _deleted(self, task_id: str) -> Any:
        """Return what is left of a task that was deleted: its name and its history."""
        events = self._tasks().history(task_id, limit=20)
        name = events[0]["name"]
        known = {"task_id": events[0]["task_id"], "name": name, "status": "deleted"}
        return {**known, "history": events, "related": {}}

    def _events(self, query: Mapping[str, str]) -> Any:
        before = query.get("before", "")
        task_id = query.get("id") or None
        return self._tasks().history(
            task_id, before=int(before) if before.isdecimal() else None, limit=_EVENTS
        )

    def _edit(self, request: PageRequest) -> PageResponse:
        if not self._writes:
            return _refused("The page only shows the plan; run tasky ui --write to change it.", 403)
        try:
            operation = request.json()
        except ValueError:
            return _refused("The body must be JSON.", 400)
        if not isinstance(operation, dict):
            return _refused("The body must be an object.", 400)
        force = operation.pop("force", False) is True
        return _answering(lambda _: self._tasks().edit([operation], self._who, force=force))(
            request
        )


def _answering(answer: Answer) -> Callable[[PageRequest], PageResponse]:
    def handler(request: PageRequest) -> PageResponse:
        try:
            return PageResponse(answer(request.query), media_type="application/json")
        except TaskyError as error:
            said = {"error": error.message, "suggestions": error.suggestions}
            status = _STATUS.get(error.code, 503)
            return PageResponse({**said, "reason": error.reason}, status, "application/json")

    return handler


def _refused(why: str, status: int) -> PageResponse:
    return PageResponse({"error": why, "suggestions": []}, status, "application/json")
