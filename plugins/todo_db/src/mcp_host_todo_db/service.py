"""What can be done with tasks, and who may do it."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from uuid import uuid4

from .errors import NotYourTasks, TaskNotFound
from .limits import MAX_PAGE, MAX_USER_ID, Status
from .model import Position, TaskCreate, TaskPage, TaskRead, TaskUpdate, required_text
from .storage import TaskStore

COMPLETED_IN: dict[Status, bool | None] = {"all": None, "pending": False, "completed": True}


def utc_now() -> datetime:
    return datetime.now(UTC)


class TaskService:
    """A to-do list for many users, each of whom sees only their own tasks.

    `caller` is who is known to call, if anybody is; `only_user` is whose tasks alone may be
    used. A `user_id` that names somebody else is refused.
    """

    def __init__(
        self,
        store: TaskStore,
        *,
        only_user: str | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._store = store
        self._only_user = only_user
        self._now = now

    async def add(self, user_id: str, task: TaskCreate, *, caller: str | None = None) -> TaskRead:
        """Keep a new, pending task.

        Raises `NotYourTasks`.
        """
        self._check_user(user_id)
        if not self._may_act_for(user_id, caller):
            raise NotYourTasks
        made = TaskRead(str(uuid4()), task.title, task.description or None, False, self._now())
        await self._store.add(user_id, made)
        return made

    async def page(
        self,
        user_id: str,
        status: Status = "all",
        *,
        limit: int = MAX_PAGE,
        cursor: str | None = None,
        caller: str | None = None,
    ) -> TaskPage:
        """A user's tasks in this state, newest first.

        Raises `NotYourTasks`, and `BadCursor`.
        """
        self._check_user(user_id)
        if not self._may_act_for(user_id, caller):
            raise NotYourTasks
        after = None if cursor is None else Position.read(cursor)
        return await self._store.page(
            user_id, completed=COMPLETED_IN[status], after=after, limit=limit
        )

    async def complete(
        self,
        user_id: str,
        task_id: str,
        *,
        completed: bool | None = None,
        caller: str | None = None,
    ) -> TaskRead:
        """Flip the state of a task, or set it, which is safe to repeat.

        Raises `TaskNotFound`.
        """
        key = self._key(user_id, task_id, caller)
        return await self._store.complete(user_id, key, completed, self._now())

    async def update(
        self, user_id: str, task_id: str, changes: TaskUpdate, *, caller: str | None = None
    ) -> TaskRead:
        """Change the given fields; with none given, nothing happens.

        Raises `TaskNotFound`.
        """
        key = self._key(user_id, task_id, caller)
        if changes.is_empty:
            return await self._store.read(user_id, key)
        return await self._store.update(user_id, key, changes, self._now())

    async def delete(self, user_id: str, task_id: str, *, caller: str | None = None) -> TaskRead:
        """Remove a task for good, and return it as it was.

        Raises `TaskNotFound`.
        """
        return await self._store.delete(user_id, self._key(user_id, task_id, caller))

    def _check_user(self, user_id: str) -> None:
        required_text("user_id", user_id, MAX_USER_ID)

    def _may_act_for(self, user_id: str, caller: str | None) -> bool:
        return all(known in (None, user_id) for known in (self._only_user, caller))

    def _key(self, user_id: str, task_id: str, caller: str | None) -> str:
        """The id as tasks are kept under; somebody else's task is as good as none."""
        self._check_user(user_id)
        if not self._may_act_for(user_id, caller):
            raise TaskNotFound
        try:
            return str(uuid.UUID(task_id))
        except ValueError:
            raise TaskNotFound from None
