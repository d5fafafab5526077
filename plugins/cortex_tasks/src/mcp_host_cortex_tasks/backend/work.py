"""Tasks and their comments."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import unquote

from fastapi import APIRouter, Header, HTTPException, Path, Query
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from ..model.rules import MAX_ID
from .access import (
    Caller,
    Database,
    assigned_or_shared,
    may_see,
    project_for,
    task_for,
    users,
)
from .shapes import (
    ChangedTask,
    CommentOut,
    NewComment,
    NewTask,
    Page,
    Said,
    TaskOut,
)
from .tables import CommentRow, TaskRow, UserRow

Id = Annotated[int, Path(ge=1, le=MAX_ID)]
# What a task cannot be without.
NEVER_NULL = ("title", "type", "priority", "status", "project_id", "collaborator_ids")


def make_router() -> APIRouter:
    """Return the routes about tasks."""
    router = APIRouter(prefix="/tasks")
    _add_lists(router)
    _add_task(router)
    _add_changes(router)
    _add_comments(router)
    return router


def _add_lists(router: APIRouter) -> None:
    @router.get("/")
    def read_tasks(session: Database, me: Caller) -> list[TaskOut]:
        wanted = select(TaskRow).where(TaskRow.deleted_at.is_(None), assigned_or_shared(me))
        return _shown(session.scalars(wanted.order_by(TaskRow.id)).all())

    @router.get("/project/{project_id}")
    def read_project_tasks(session: Database, me: Caller, project_id: Id) -> list[TaskOut]:
        project_for(session, me, project_id)
        of_project = (TaskRow.project_id == project_id, TaskRow.deleted_at.is_(None))
        wanted = select(TaskRow).where(*of_project, may_see(me))
        return _shown(session.scalars(wanted.order_by(TaskRow.id)).all())


def _add_task(router: APIRouter) -> None:
    @router.post("/")
    def make_task(session: Database, me: Caller, new: NewTask) -> TaskOut:
        project_for(session, me, new.project_id)
        users(session, [new.assignee_id] if new.assignee_id else [])
        now = datetime.now(UTC)
        fields = new.model_dump(exclude={"collaborator_ids"})
        fields["assignee_id"] = new.assignee_id or me.id
        task = TaskRow(**fields, creator_id=me.id, created_at=now, updated_at=now)
        task.shared_with = users(session, new.collaborator_ids)
        session.add(task)
        session.commit()
        return TaskOut.model_validate(task)

    @router.get("/{task_id}")
    def read_task(session: Database, me: Caller, task_id: Id) -> TaskOut:
        return TaskOut.model_validate(task_for(session, me, task_id))


def _add_changes(router: APIRouter) -> None:
    @router.patch("/{task_id}")
    def change_task(
        session: Database,
        me: Caller,
        task_id: Id,
        changed: ChangedTask,
        if_match: Annotated[str | None, Header()] = None,
    ) -> TaskOut:
        task = task_for(session, me, task_id)
        if if_match is not None and unquote(if_match.strip('"')) != _version(task):
            raise HTTPException(412, "The task changed meanwhile")
        fields = changed.model_dump(exclude_unset=True)
        for name in NEVER_NULL:
            if name in fields and fields[name] is None:
                raise HTTPException(422, f"{name} cannot be null")
        if "project_id" in fields:
            project_for(session, me, fields["project_id"])
        users(session, [fields["assignee_id"]] if fields.get("assignee_id") else [])
        shared = fields.pop("collaborator_ids", None)
        if shared is not None:
            task.shared_with = users(session, shared)
        _write(session, task, fields)
        return TaskOut.model_validate(task)

    @router.delete("/{task_id}")
    def delete_task(session: Database, me: Caller, task_id: Id) -> Said:
        task = task_for(session, me, task_id)
        _write(session, task, {"deleted_at": datetime.now(UTC)})
        return Said(message="Task deleted")

    @router.post("/{task_id}/restore")
    def restore_task(session: Database, me: Caller, task_id: Id) -> Said:
        task = task_for(session, me, task_id, deleted=True)
        _write(session, task, {"deleted_at": None})
        return Said(message="Task restored")


def _add_comments(router: APIRouter) -> None:
    @router.get("/{task_id}/comments")
    def read_comments(
        session: Database,
        me: Caller,
        task_id: Id,
        page: Annotated[int, Query(ge=1, le=MAX_ID)] = 1,
        page_size: Annotated[int, Query(ge=1, le=100)] = 10,
    ) -> Page[CommentOut]:
        task_for(session, me, task_id)
        of_task = CommentRow.task_id == task_id
        total = session.scalar(select(func.count()).select_from(CommentRow).where(of_task)) or 0
        wanted = select(CommentRow).where(of_task).order_by(CommentRow.id.desc())
        rows = session.scalars(wanted.offset((page - 1) * page_size).limit(page_size))
        items = [_comment(session, row) for row in rows]
        return Page(items=items, total=total, page=page, page_size=page_size)

    @router.post("/{task_id}/comments")
    def make_comment(session: Database, me: Caller, task_id: Id, new: NewComment) -> CommentOut:
        task_for(session, me, task_id)
        made = CommentRow(
            task_id=task_id, user_id=me.id, content=new.content, created_at=datetime.now(UTC)
        )
        session.add(made)
        session.commit()
        return _comment(session, made)


def _comment(session: Session, row: CommentRow) -> CommentOut:
    author = session.get(UserRow, row.user_id)
    return CommentOut(
        id=row.id,
        task_id=row.task_id,
        author=author.username if author else "",
        author_id=row.user_id,
        content=row.content,
        created_at=row.created_at,
        updated_at=row.created_at,
    )


def _write(session: Session, task: TaskRow, fields: dict[str, object]) -> None:
    """Write the fields if the task is still as it was read, compared and set in one statement."""
    seen = task.updated_at
    session.flush()
    same = (TaskRow.id == task.id, TaskRow.updated_at == seen)
    values = {**fields, "updated_at": datetime.now(UTC)}
    if session.execute(update(TaskRow).where(*same).values(values)).rowcount == 0:  # type: ignore[attr-defined]  # an UPDATE has it
        session.rollback()
        raise HTTPException(412, "The task changed meanwhile")
    session.commit()
    session.refresh(task)


def _version(task: TaskRow) -> str:
    """What `updated_at` is in the task's JSON."""
    return str(TaskOut.model_validate(task).model_dump(mode="json")["updated_at"])


def _shown(rows: Iterable[TaskRow]) -> list[TaskOut]:
    return [TaskOut.model_validate(row) for row in rows]
