"""What can be done with tasks, and who may do it."""

import asyncio
import os
import re
import uuid
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

from .errors import InvalidTaskError, NotYourTasksError, TaskNotFoundError, TookTooLongError
from .model import (
    MAX_HISTORY,
    MAX_PAGE,
    MAX_USER_ID,
    Change,
    Position,
    Status,
    TaskCreate,
    TaskPage,
    TaskRead,
    TaskUpdate,
    required_text,
)
from .request_key import RequestKey
from .storage import TaskStore

COMPLETED_IN: dict[Status, bool | None] = {"all": None, "pending": False, "completed": True}
_IS_UUID = re.compile("[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}").fullmatch
"""Whether a text is a UUID as `str` writes it, so that none need be made of it."""


def utc_now() -> datetime:
    return datetime.now(UTC)


def new_id() -> str:
    """A new UUID of version 4 as text, in a third of the time that `uuid.uuid4` takes."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def tell_nobody(_user_id: str) -> None:
    """The `changed` of a service that nobody watches."""


class TaskService:
    """A to-do list for many users, each of whom sees only their own tasks.

    `caller` is who is known to call, if anybody is; `only_user` is whose tasks alone may be
    used. A `user_id` that names somebody else is refused; None means the caller, else the only
    user, and raises `InvalidTaskError` where there is neither. `changed` hears whose tasks changed
    where nobody is known to call.

    A change with a `key` is made at most once for its user: made again within a week it does
    nothing and returns what it returned the first time. Of another change the same key raises
    `RequestKeyReusedError`; where keys are not kept, `NotKeptError`.
    """

    def __init__(
        self,
        store: TaskStore,
        *,
        only_user: str | None = None,
        changed: Callable[[str], None] = tell_nobody,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._store = store
        self._only_user = only_user
        self._changed = changed
        self._now = now

    async def add(
        self,
        user_id: str | None,
        task: TaskCreate,
        *,
        caller: str | None = None,
        key: str | None = None,
    ) -> TaskRead:
        """Keep a new, pending task.

        Raises `NotYourTasksError`.
        """
        request = RequestKey.of(key, "add", task.title, task.description or None)
        user = self._meant(user_id, caller)
        if not self._may_act_for(user, caller):
            raise NotYourTasksError
        made = TaskRead(new_id(), task.title, task.description or None, False, self._now())
        kept = await self._store.add(user, made, actor=caller, request=request)
        return self._told(user, kept)

    async def page(
        self,
        user_id: str | None,
        status: Status = "all",
        *,
        limit: int = MAX_PAGE,
        cursor: str | None = None,
        caller: str | None = None,
    ) -> TaskPage:
        """A user's tasks in this state, newest first.

        Raises `NotYourTasksError`, and `BadCursorError`.
        """
        user = self._meant(user_id, caller)
        if not self._may_act_for(user, caller):
            raise NotYourTasksError
        after = None if cursor is None else Position.read(cursor)
        return await self._store.page(
            user, completed=COMPLETED_IN[status], after=after, limit=limit
        )

    async def complete(
        self,
        user_id: str | None,
        task_id: str,
        *,
        completed: bool | None = None,
        caller: str | None = None,
        within: float | None = None,
        key: str | None = None,
    ) -> TaskRead:
        """Flip the state of a task, or set it, which is safe to repeat.

        Raises `TaskNotFoundError`, and `TookTooLongError` after `within` seconds.
        """
        user, found = self._found(user_id, task_id, caller)
        request = RequestKey.of(key, "complete", found, completed)
        work = self._store.complete(
            user, found, completed, self._now(), actor=caller, request=request
        )
        return self._told(user, await (work if within is None else _ended_within(within, work)))

    async def update(
        self,
        user_id: str | None,
        task_id: str,
        changes: TaskUpdate,
        *,
        caller: str | None = None,
        key: str | None = None,
    ) -> TaskRead:
        """Change the given fields; with none given, nothing happens.

        Raises `TaskNotFoundError`.
        """
        user, found = self._found(user_id, task_id, caller)
        request = RequestKey.of(key, "update", found, changes.title, changes.description)
        if changes.is_empty:
            return await self._store.read(user, found, self._now(), request=request)
        task = await self._store.update(
            user, found, changes, self._now(), actor=caller, request=request
        )
        return self._told(user, task)

    async def delete(
        self,
        user_id: str | None,
        task_id: str,
        *,
        caller: str | None = None,
        key: str | None = None,
    ) -> TaskRead:
        """Remove a task for good, and return it as it was.

        Raises `TaskNotFoundError`.
        """
        user, found = self._found(user_id, task_id, caller)
        request = RequestKey.of(key, "delete", found)
        task = await self._store.delete(user, found, self._now(), actor=caller, request=request)
        return self._told(user, task)

    async def restore(self, user_id: str, task_id: str) -> str:
        """Bring a deleted task back, for the operator, and return its title.

        Raises `TaskNotFoundError`, and `NotKeptError` where deleted tasks are not kept.
        """
        return await self._store.restore(*self._found(user_id, task_id, None), self._now())

    async def history(
        self, user_id: str | None, *, limit: int = MAX_HISTORY, caller: str | None = None
    ) -> tuple[Change, ...]:
        """The latest changes of a user's tasks, newest first.

        Raises `NotYourTasksError`, and `NotKeptError` where no history is kept.
        """
        user = self._meant(user_id, caller)
        if not self._may_act_for(user, caller):
            raise NotYourTasksError
        return await self._store.history(user, limit=limit)

    def _told(self, user: str, task: TaskRead) -> TaskRead:
        """The task, after those who watch have been told."""
        self._changed(user)
        return task

    def _meant(self, user_id: str | None, caller: str | None) -> str:
        """Who is named, else who calls."""
        user = user_id if user_id is not None else caller or self._only_user
        if user is None:
            raise InvalidTaskError("user_id", "user_id is required: nobody is known to call")
        required_text("user_id", user, MAX_USER_ID)
        return user

    def _may_act_for(self, user: str, caller: str | None) -> bool:
        return self._only_user in (None, user) and caller in (None, user)

    def _found(self, user_id: str | None, task_id: str, caller: str | None) -> tuple[str, str]:
        """The user and the id that a task is kept under; somebody else's is as good as none."""
        user = self._meant(user_id, caller)
        if not self._may_act_for(user, caller):
            raise TaskNotFoundError
        if _IS_UUID(task_id):
            return user, task_id
        try:
            return user, str(uuid.UUID(task_id))
        except ValueError:
            raise TaskNotFoundError from None


async def _ended_within(seconds: float, work: Coroutine[Any, Any, TaskRead]) -> TaskRead:
    """Raises `TookTooLongError`."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError as error:
        raise TookTooLongError(seconds) from error
