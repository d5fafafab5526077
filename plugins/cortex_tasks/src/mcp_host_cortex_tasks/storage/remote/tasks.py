"""The tasks of a backend, as every store of tasks has them."""

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from ...errors import InvalidError, NotFoundError
from ...model.parsing import bad_answer, parse_comment, parse_task, parse_user
from ...model.task import Comment, Draft, Task, User
from .backend import Backend


class RemoteTasks:
    """The tasks that a backend shows to the owner of a token."""

    def __init__(self, backend: Backend, *, project_id: int | None = None) -> None:
        self._backend = backend
        self._project_id = project_id

    def mine(self) -> list[Task]:
        """See `Tasks`."""
        rows = self._backend.call("GET", "tasks/")
        if not isinstance(rows, list):
            raise bad_answer("the tasks should be an array")
        return [parse_task(row) for row in rows]

    def get(self, task_id: int) -> Task:
        """See `Tasks`."""
        return parse_task(self._backend.call("GET", f"tasks/{task_id}"))

    def create(self, draft: Draft) -> Task:
        """See `Tasks`. Without a project in the draft it is the default one of the settings."""
        project = draft.project_id or self._project_id
        if project is None:
            raise InvalidError(
                "A task needs a project, and no default is set.",
                reason="project_required",
                suggestions=[
                    "ctx projects list, then: ctx config set default_project_id NUMBER",
                    "Without any: ctx projects new NAME",
                ],
            )
        fields: dict[str, object] = {
            "title": draft.title,
            "project_id": project,
            "description": draft.description,
            "type": draft.type,
            "priority": draft.priority,
            "deadline": draft.deadline,
            "assignee_id": draft.assignee_id or self.me().id,
        }
        if draft.collaborator_ids:
            fields["collaborator_ids"] = list(draft.collaborator_ids)
        given = {key: value for key, value in fields.items() if value is not None}
        return parse_task(self._backend.call("POST", "tasks/", given))

    def change(self, task_id: int, fields: Mapping[str, object], seen: Task | None = None) -> Task:
        """See `Tasks`."""
        only_if = {"If-Match": f'"{quote(seen.updated_at)}"'} if seen and seen.updated_at else {}
        return parse_task(self._backend.call("PATCH", f"tasks/{task_id}", fields, headers=only_if))

    def delete(self, task_id: int) -> None:
        """See `Tasks`."""
        self._backend.call("DELETE", f"tasks/{task_id}")

    def restore(self, task_id: int) -> Task:
        """See `Tasks`. A backend may answer a message, and no task."""
        self._backend.call("POST", f"tasks/{task_id}/restore")
        return self.get(task_id)

    def comments(self, task_id: int) -> list[Comment]:
        """See `Tasks`."""
        answer = self._backend.call("GET", f"tasks/{task_id}/comments?page=1&page_size=100")
        rows = answer.get("items") if isinstance(answer, Mapping) else answer
        if not isinstance(rows, list):
            raise bad_answer("the comments should be an array")
        return [parse_comment(row) for row in rows]

    def comment(self, task_id: int, text: str) -> None:
        """See `Tasks`."""
        self._backend.call("POST", f"tasks/{task_id}/comments", {"content": text})

    def find_user(self, who: str) -> User:
        """See `Tasks`."""
        me = self.me()
        if who in ("me", str(me.id), me.email):
            return me
        if who.isascii() and who.isdigit():
            return User(int(who), "", "")  # the backend refuses one that there is not
        rows = self._backend.call("GET", f"users/search?{urlencode({'q': who})}")
        users = [parse_user(row) for row in rows] if isinstance(rows, list) else []
        found = [user for user in users if who in (user.email, user.username)]
        if len(found) != 1:
            raise NotFoundError(f"There is no user {who}.", reason="no_such_user")
        return found[0]

    def me(self) -> User:
        """See `Tasks`."""
        return parse_user(self._backend.call("GET", "users/me"))
