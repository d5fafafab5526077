"""What a store of tasks answers, wherever the tasks are."""

from collections.abc import Mapping
from typing import Protocol

from ..model.task import Comment, Draft, Task, User

CHANGED_MEANWHILE = "changed_meanwhile"


class Tasks(Protocol):
    """The tasks of one caller. Every answer is the backend's state after the call."""

    def mine(self) -> list[Task]:
        """Return the tasks assigned to the caller or shared with them."""

    def get(self, task_id: int) -> Task:
        """Return one task; raise `NotFoundError` or `NotAllowedError`."""

    def create(self, draft: Draft) -> Task:
        """Make a task, assigned to the caller unless the draft names somebody."""

    def change(self, task_id: int, fields: Mapping[str, object], seen: Task | None = None) -> Task:
        """Change the given fields.

        With `seen`, raise `RefusedError` (`changed_meanwhile`) when the task is no longer as it was
        seen; a backend that does not know the condition changes it all the same.
        """

    def delete(self, task_id: int) -> None:
        """Delete a task so that `restore` can bring it back."""

    def restore(self, task_id: int) -> Task:
        """Bring back a deleted task."""

    def comments(self, task_id: int) -> list[Comment]:
        """Return the newest comments of a task, the newest first."""

    def comment(self, task_id: int, text: str) -> None:
        """Put a comment to a task."""

    def find_user(self, who: str) -> User:
        """Return the user that a number, an e-mail or `me` names; raise `NotFoundError`."""

    def me(self) -> User:
        """Return the caller."""
