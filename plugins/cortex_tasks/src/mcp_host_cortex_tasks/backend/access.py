"""Who is asking, and which tasks are theirs."""

from collections.abc import Iterator
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi.security import OAuth2PasswordBearer
from sqlalchemy import ColumnElement, or_
from sqlalchemy.orm import Session

from .logins import Tokens
from .tables import Project, TaskRow, UserRow

PREFIX = "/api/v1"
SAFE = ("GET", "HEAD")
_bearer = OAuth2PasswordBearer(f"{PREFIX}/login/access-token", auto_error=False)


def database(request: Request) -> Iterator[Session]:
    """Yield a session whose changes are kept when the answer is ready, or not at all."""
    engine = request.app.state.engine
    if request.method in SAFE:
        engine = engine.execution_options(writes=False)
    with Session(engine, expire_on_commit=False) as session:
        yield session


Database = Annotated[Session, Depends(database)]


def caller(
    request: Request, session: Database, token: Annotated[str | None, Depends(_bearer)]
) -> UserRow:
    """Return the owner of the token; 401 without one that is valid."""
    if token is None:
        raise unknown_caller("Not authenticated")
    tokens: Tokens = request.app.state.tokens
    login = tokens.read(token)
    user = None if login is None else session.get(UserRow, login.owner)
    if login is None or user is None or not tokens.holds(login, user.password_hash):
        raise unknown_caller("Could not validate credentials")
    return user


Caller = Annotated[UserRow, Depends(caller)]


def unknown_caller(detail: str) -> HTTPException:
    """The error for a caller that we do not know."""
    return HTTPException(401, detail, headers={"WWW-Authenticate": "Bearer"})


def may_see(user: UserRow) -> ColumnElement[bool]:
    """The tasks that a user may see: assigned to them, shared with them, or made by them."""
    return or_(assigned_or_shared(user), TaskRow.creator_id == user.id)


def assigned_or_shared(user: UserRow) -> ColumnElement[bool]:
    """The tasks that a user works on."""
    return or_(TaskRow.assignee_id == user.id, TaskRow.shared_with.any(UserRow.id == user.id))


def task_for(session: Session, user: UserRow, task_id: int, *, deleted: bool = False) -> TaskRow:
    """Return a task that the user may see; 404 when there is none, 403 when it is another's."""
    task = session.get(TaskRow, task_id)
    if task is None or (task.deleted_at is not None and not deleted):
        raise HTTPException(404, "Task not found")
    if user.id not in (task.assignee_id, task.creator_id, *task.collaborator_ids):
        raise HTTPException(403, "No access to task")
    return task


def project_for(session: Session, user: UserRow, project_id: int) -> Project:
    """Return a project of the user's organization."""
    project = session.get(Project, project_id)
    if project is None:
        raise HTTPException(404, "Project not found")
    if user.organization_id is None or project.organization_id != user.organization_id:
        raise HTTPException(403, "No access to project")
    return project


def users(session: Session, ids: list[int]) -> list[UserRow]:
    """Return these users; 404 when one of them is none."""
    found = [session.get(UserRow, number) for number in dict.fromkeys(ids)]
    known = [user for user in found if user is not None]
    if len(known) < len(found):
        raise HTTPException(404, "User not found")
    return known
